// The classes of shiftvit.hpp: ownership, failures, training and prediction. It is compiled with
// and without exceptions.  test_handles FOLDER
#include "check.hpp"

#include <algorithm>
#include <stdexcept>
#include <type_traits>

template <class Handle> void check_type()
{
    static_assert(!std::is_copy_constructible_v<Handle> && !std::is_copy_assignable_v<Handle>);
    static_assert(std::is_nothrow_move_constructible_v<Handle>);
    static_assert(std::is_nothrow_move_assignable_v<Handle>);
    static_assert(std::is_nothrow_default_constructible_v<Handle>);
    static_assert(sizeof(Handle) == sizeof(void *));
    CHECK(!Handle());
}

static void test_handles_move(shiftvit::context &context)
{
    shiftvit::dataset first, second;
    WORKS(first.synthetic(context, 1, SVIT_SPLIT_TRAIN, 20));
    svit_dataset *raw = first.get();
    shiftvit::dataset moved = std::move(first);
    CHECK(!first && moved.get() == raw && moved.count() == 20);
    WORKS(second.slice(moved, 3, 5));
    moved = std::move(second); // frees the parent's handle; the view keeps the parent alive
    CHECK(!second && moved.count() == 5);
    shiftvit::dataset &same = moved;
    moved = std::move(same);
    CHECK(moved.count() == 5);
    shiftvit::dataset owner(moved.release());
    CHECK(!moved && owner.count() == 5);
    owner.reset();
    CHECK(!owner && owner.count() == 0 && owner.class_name(0) == nullptr);
    shiftvit::context shared = context.share();
    CHECK(shared.get() == context.get() && shared.threads() == context.threads());
}

static void test_failures_have_status_and_message(shiftvit::context &context)
{
    shiftvit::model model;
    FAILS(model.load(context, "/nowhere/model.safetensors"), SVIT_E_IO, "/nowhere/model");
    CHECK(!model);
    auto config = shiftvit::model_config();
    FAILS(shiftvit::from_json(config, R"({"dims": 48})"), SVIT_E_ARGUMENT, "dims");
    FAILS(shiftvit::preset(config, "no-such-preset"), SVIT_E_ARGUMENT, "no-such-preset");
    shiftvit::dataset data;
    WORKS(data.synthetic(context, 1, SVIT_SPLIT_TRAIN, 7));
    FAILS(data.slice(data, 3, 5), SVIT_E_ARGUMENT, ""); // a failed call leaves the object as it was
    CHECK(data.count() == 7);
    FAILS(shiftvit::session().forward(nullptr, 1, nullptr), SVIT_E_ARGUMENT, "session");
}

static void test_texts(shiftvit::context &context)
{
    std::string text = "before";
    WORKS(context.describe(text));
    CHECK(text.front() == '{' && text.back() == '}');
    auto config = shiftvit::loader_config();
    config.batch = 17;
    WORKS(shiftvit::to_json(config, text));
    auto read = shiftvit::loader_config();
    WORKS(shiftvit::from_json(read, text.c_str()));
    CHECK(read.batch == 17);
    config.batch = 0;
    FAILS(shiftvit::to_json(config, text), SVIT_E_ARGUMENT, "batch");
    CHECK(text.find("17") != std::string::npos);
}

static void test_sizes(shiftvit::context &context)
{
    std::vector<std::uint8_t> pixels(5 * 4 * 6 * 1);
    const std::int32_t labels[5] = {0, 1, 2, 1, 0};
    shiftvit::dataset data;
    WORKS(data.memory(context, pixels.data(), labels, 5, 4, 6, 1, 3));
    CHECK(data.count() == 5 && data.height() == 4 && data.width() == 6 && data.channels() == 1 &&
          data.classes() == 3 && !data.is_f32() && !data.has_targets());
    auto pipeline = shiftvit::pipeline_config();
    pipeline.channels = 1;
    pipeline.source_height = pipeline.resize_height = pipeline.output_height = 4;
    pipeline.source_width = pipeline.resize_width = pipeline.output_width = 6;
    auto batches = shiftvit::loader_config();
    batches.batch = 2;
    shiftvit::loader loader;
    WORKS(loader.create(data, pipeline, batches));
    CHECK(loader.height() == 4 && loader.width() == 6 && loader.batches() == 3);
    WORKS(loader.seek(0, 2));
    std::vector<float> images(2 * 4 * 6);
    std::int32_t read[2] = {-1, -1};
    std::size_t n = 9;
    WORKS(loader.next(images.data(), read, n));
    CHECK(n == 1 && read[0] == 0 && read[1] == -1);
    const float values[6] = {1, 2, 3, 4, 5, 6};
    shiftvit::features features;
    WORKS(features.create(context, values, labels, 2, 3, 4));
    CHECK(features.count() == 2 && features.channels() == 3 && features.classes() == 4 &&
          features.values()[5] == 6 && features.labels()[1] == 1);
}

static void test_classes_by_name(shiftvit::context &context)
{
    static const std::uint8_t pixels[3] = {};
    static const std::int32_t labels[] = {0};
    const char *const names[] = {"square", "disc"};
    shiftvit::dataset data, matched, unnamed;
    std::string path = "none";
    WORKS(data.synthetic(context, 1, SVIT_SPLIT_TRAIN, 2));
    CHECK(code_of([&] { return matched.match_classes(data, names, 2); }) == SVIT_E_ARGUMENT);
    WORKS(unnamed.memory(context, pixels, labels, 1, 1, 1, 3, 1));
    CHECK(code_of([&] { return matched.match_classes(unnamed, names, 2); }) == SVIT_E_ARGUMENT);
    WORKS(data.path(0, path));
    CHECK(path.empty());
    shiftvit::dataset one, other, test;
    WORKS(data.split(0.5, 0, 7, one, other, test));
    CHECK(one.count() == 1 && other.count() == 1 && !test);
    CHECK(code_of([&] { return data.split(1, 0, 7, one, other, test); }) == SVIT_E_ARGUMENT);
    CHECK(one.count() == 1);
    shiftvit::dataset both;
    WORKS(both.concatenate(data, data));
    CHECK(both.count() == 4 && both.classes() == data.classes());
    CHECK(code_of([&] { return both.concatenate(data, unnamed); }) == SVIT_E_ARGUMENT);
    svit_dataset *const parents[] = {data.get(), both.get(), data.get()};
    WORKS(both.concatenate(parents, 3));
    CHECK(both.count() == 8);
}

static void test_train_and_predict(shiftvit::context &context, const std::string &folder)
{
    shiftvit::model model = small_model(context);
    shiftvit::dataset data, test;
    WORKS(data.synthetic(context, 1, SVIT_SPLIT_TRAIN, 640));
    WORKS(test.synthetic(context, 1, SVIT_SPLIT_TEST, 100));
    auto pipeline = shiftvit::pipeline_config();
    auto settings = shiftvit::trainer_config();
    settings.epochs = 3;
    settings.batch = 64;
    shiftvit::trainer trainer;
    WORKS(trainer.create(context, model, data, test, settings, shiftvit::optimizer_config(),
                         pipeline));
    std::vector<double> losses;
    WORKS(trainer.run([&](const svit_trainer_event &event) {
        if (event.kind == SVIT_EVENT_EPOCH)
            losses.push_back(event.train_loss);
        return 0;
    }));
    CHECK(losses.size() == 3 && trainer.history_count() == 3 && losses[2] < losses[0]);
    svit_trainer_event last;
    WORKS(trainer.history(2, last));
    CHECK(last.train_loss == losses[2]);
    double loss, top1, top5;
    WORKS(shiftvit::evaluate(context, model, test, pipeline, settings.batch, loss, top1, top5));
    CHECK(loss == last.val_loss && top1 == last.val_top1 && top5 == last.val_top5);
    std::vector<float> logits(test.count() * 10);
    std::vector<std::int32_t> labels(test.count());
    WORKS(shiftvit::evaluate_logits(context, model, test, pipeline, settings.batch,
                                    SVIT_COMPUTE_F32, SVIT_TTA_NONE, logits.data(), labels.data()));
    const shiftvit::model &unchanged = model; // whose pipeline the trainer has set
    double own_loss, own_top1, own_top5;
    std::vector<float> own_logits(logits.size());
    WORKS(
        shiftvit::evaluate(context, unchanged, test, settings.batch, own_loss, own_top1, own_top5));
    CHECK(own_loss == loss && own_top1 == top1 && own_top5 == top5);
    WORKS(shiftvit::evaluate_logits(context, unchanged, test, settings.batch, SVIT_COMPUTE_F32,
                                    SVIT_TTA_NONE, own_logits.data(), nullptr));
    CHECK(own_logits == logits);
    std::size_t right = 0;
    for (std::size_t i = 0; i < labels.size(); i++) {
        const auto first = logits.begin() + std::ptrdiff_t(10 * i);
        right += std::max_element(first, first + 10) - first == labels[i];
    }
    CHECK(double(right) / double(labels.size()) == top1);

    const std::string path = folder + "/model.safetensors";
    WORKS(model.save(path.c_str()));
    shiftvit::predictor from_model, from_file;
    WORKS(from_model.create(model));
    WORKS(from_file.create(context, path.c_str()));
    CHECK(from_file.classes() == 10);
    std::vector<std::uint8_t> pixels(32 * 32 * 3);
    std::vector<float> one(10), two(10);
    std::int32_t label = -1;
    WORKS(test.sample(3, pixels.data(), label));
    CHECK(label == 3);
    WORKS(from_model.predict(pixels.data(), 1, 32, 32, one.data()));
    WORKS(from_file.predict(pixels.data(), 1, 32, 32, two.data()));
    CHECK(one == two);
    float sum = 0;
    for (float probability : one)
        sum += probability;
    CHECK(sum > 0.999f && sum < 1.001f);
    const char *const absent[] = {"/nowhere/a.png", "/nowhere/b.png"};
    const void *const damaged[] = {absent[0], absent[1]};
    const std::size_t bytes[] = {14, 14};
    std::vector<float> rows(20);
    std::vector<svit_error> errors(2, shiftvit::error_record());
    WORKS(from_model.predict_files(absent, 2, rows.data(), errors.data()));
    CHECK(errors[1].code == SVIT_E_IO && rows[10] != rows[10]);
    WORKS(from_model.predict_encoded(damaged, bytes, 2, rows.data(), errors.data()));
    CHECK(errors[1].code == SVIT_E_FORMAT && rows[19] != rows[19]);
    FAILS(from_model.predict_files(absent, 2, rows.data()), SVIT_E_IO, "/nowhere/a.png");
    FAILS(from_model.predict_encoded(damaged, bytes, 2, rows.data()), SVIT_E_FORMAT, "image 0");

    shiftvit::features features;
    WORKS(features.compute(model, test));
    CHECK(features.count() == 100 && features.labels()[13] == 3);
    shiftvit::extractor extractor;
    svit_features_config by_one = shiftvit::features_config();
    by_one.batch = 1;
    WORKS(features.compute(model, test, by_one));
    WORKS(extractor.create(model, by_one));
    pixels.resize(test.height() * test.width() * test.channels());
    std::vector<float> row(extractor.channels());
    std::int32_t thirteenth = -1, tokens = -1;
    std::size_t grid[2] = {0, 0};
    WORKS(test.sample(13, pixels.data(), thirteenth));
    WORKS(extractor.grid(tokens, grid[0], grid[1]));
    WORKS(extractor.extract(pixels.data(), 1, test.height(), test.width(), row.data()));
    CHECK(grid[0] == 1 && grid[1] == 1 && tokens == SVIT_TOKENS_MEAN);
    CHECK(row.size() == features.channels() &&
          std::equal(row.begin(), row.end(), features.values() + 13 * row.size()));
    std::vector<float> votes(10);
    WORKS(features.knn(features.values(), 1, 1, 0.07, votes.data()));
    CHECK(votes[0] == 1); // the nearest neighbour of sample 0 is itself
}

static void test_steps(shiftvit::context &context)
{
    shiftvit::model model = small_model(context);
    auto plan = shiftvit::session_config();
    plan.mode = SVIT_MODE_TRAIN;
    plan.max_batch = 1;
    plan.input_gradient = 1;
    shiftvit::session session;
    shiftvit::optimizer optimizer;
    WORKS(session.create(model, plan));
    WORKS(optimizer.create(model));
    CHECK(session.input_size() == 48 * 48 * 3 && session.memory() > 0);
    std::vector<float> image(session.input_size(), 0.5f), dimage(session.input_size()), logits(10);
    std::vector<float> before(10), after(10), gradient(10);
    const float dlogits[10] = {1, -1};
    WORKS(session.forward(image.data(), 1, logits.data()));
    CHECK(session.counter() == 1);
    WORKS(session.backward_input(dlogits, 1, dimage.data()));
    const char *bias = model.parameter_name(model.parameter_count() - 1);
    WORKS(model.get_parameter(bias, before.data(), 10));
    WORKS(session.get_gradient(bias, gradient.data(), 10));
    CHECK(gradient[0] == 1 && gradient[1] == -1 && gradient[2] == 0);
    double rate = 0;
    WORKS(optimizer.set("learning_rate", 0.125));
    WORKS(optimizer.get_value("learning_rate", rate));
    CHECK(rate == 0.125);
    WORKS(optimizer.step(session));
    CHECK(optimizer.steps() == 1);
    WORKS(model.get_parameter(bias, after.data(), 10));
    CHECK(after[0] < before[0] && after[1] > before[1]);
    WORKS(session.set_mode(SVIT_MODE_INFER));
    FAILS(session.backward(dlogits, 1), SVIT_E_STATE, "");
}

static void test_callback_stops(shiftvit::context &context)
{
    shiftvit::model model = small_model(context);
    shiftvit::dataset data;
    WORKS(data.synthetic(context, 1, SVIT_SPLIT_TRAIN, 64));
    auto settings = shiftvit::trainer_config();
    settings.batch = 32;
    shiftvit::trainer trainer;
    WORKS(trainer.create(context, model, data, shiftvit::dataset(), settings,
                         shiftvit::optimizer_config(), shiftvit::pipeline_config()));
    FAILS(trainer.run([](const svit_trainer_event &) { return true; }), SVIT_E_STOPPED, "");
    CHECK(trainer.stop_value() == 1);
    FAILS(trainer.run([](const svit_trainer_event &) { return std::int32_t(7); }), SVIT_E_STOPPED,
          "");
    CHECK(trainer.stop_value() == 7);
    {
        using owner = shiftvit::optimizer;
        using borrowed = decltype(trainer.optimizer());
        static_assert(!std::is_constructible_v<owner, borrowed>);
        static_assert(!std::is_assignable_v<owner &, borrowed>);
        auto optimizer = trainer.optimizer();
        auto copy = optimizer;
        WORKS(copy.set("learning_rate", 0.25));
        FAILS(copy.set("learning_ratee", 0.25), SVIT_E_ARGUMENT, "learning_ratee");
        CHECK(optimizer && optimizer.get() == trainer.borrow_optimizer());
    }
    double rate = 0;
    WORKS(trainer.optimizer().get_value("learning_rate", rate)); // borrowed, and so not freed above
    CHECK(rate == 0.25);
    auto pipeline = shiftvit::pipeline_config(); // which the trainer has set
    WORKS(model.get_pipeline(pipeline));
    WORKS(model.remove_pipeline());
    FAILS(model.get_pipeline(pipeline), SVIT_E_STATE, "pipeline");
#ifndef SHIFTVIT_NO_EXCEPTIONS
    bool caught = false;
    try {
        trainer.run([](const svit_trainer_event &) -> int { throw std::runtime_error("mine"); });
    } catch (const std::runtime_error &mine) {
        caught = std::string(mine.what()) == "mine";
    }
    CHECK(caught);
#endif
}

int main(int count, char **arguments)
{
    if (count != 2)
        return 2;
    check_type<shiftvit::context>();
    check_type<shiftvit::dataset>();
    check_type<shiftvit::loader>();
    check_type<shiftvit::model>();
    check_type<shiftvit::session>();
    check_type<shiftvit::optimizer>();
    check_type<shiftvit::trainer>();
    check_type<shiftvit::predictor>();
    check_type<shiftvit::features>();
    check_type<shiftvit::extractor>();
    check_type<shiftvit::image>();
    check_type<shiftvit::folder_lock>();
    check_type<shiftvit::checkpoint>();
    auto config = shiftvit::context_config();
    config.threads = 2;
    shiftvit::context context;
    WORKS(context.create(config));
    CHECK(context.threads() == 2);
    test_handles_move(context);
    test_failures_have_status_and_message(context);
    test_texts(context);
    test_sizes(context);
    test_steps(context);
    test_classes_by_name(context);
    test_train_and_predict(context, arguments[1]);
    test_callback_stops(context);
    std::printf("%d failures\n", failures);
    return failures != 0;
}
