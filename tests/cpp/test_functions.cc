// Each function of the classes that test_handles.cc does not call: its arguments arrive in their order, and its results
// come back.  test_functions FOLDER
#include "check.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

// The most bytes that operator new allocates at once.
static std::size_t available = SIZE_MAX;

void *operator new(std::size_t bytes, const std::nothrow_t &) noexcept
{
    return bytes > available ? nullptr : std::malloc(bytes ? bytes : 1);
}
void *operator new(std::size_t bytes)
{
    void *memory = operator new(bytes, std::nothrow);
#ifdef __cpp_exceptions
    if (!memory)
        throw std::bad_alloc();
#else
    if (!memory)
        std::abort();
#endif
    return memory;
}
void operator delete(void *memory) noexcept
{
    std::free(memory);
}
void operator delete(void *memory, std::size_t) noexcept
{
    std::free(memory);
}

static void test_images(shiftvit::context &context, const std::string &folder)
{
    const std::string path = folder + "/image.png";
    std::uint8_t pixels[2 * 3 * 3], small[3], source[3];
    float evaluated[3], same[3];
    for (std::size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = std::uint8_t(10 * i);
    shiftvit::image image, decoded;
    FAILS(image.read(context, path.c_str(), 3), SVIT_E_IO, path);
    WORKS(shiftvit::write_png(context, path.c_str(), pixels, 2, 3));
    WORKS(image.read(context, path.c_str(), 3));
    CHECK(image.height() == 2 && image.width() == 3 && image.channels() == 3);
    CHECK(std::equal(pixels, pixels + sizeof pixels, image.pixels()));
    FAILS(decoded.decode(context, pixels, sizeof pixels, "mine", 3), SVIT_E_FORMAT, "mine");
    WORKS(shiftvit::resize_antialias(context, pixels, 2, 3, small, 1, 1));
    CHECK(small[0] == 75 && small[1] == 85 && small[2] == 95); // the means
    auto pipeline = shiftvit::pipeline_config();
    WORKS(
        shiftvit::from_json(pipeline, R"({"source_height": 1, "source_width": 1, "resize_height": 1,
        "resize_width": 1, "output_height": 1, "output_width": 1})"));
    WORKS(shiftvit::apply_source(context, pipeline, small, 1, 1, source));
    CHECK(std::equal(small, small + 3, source));
    const float values[3] = {75, 85, 95};
    WORKS(shiftvit::apply_evaluation(context, pipeline, small, 1, 1, 1, evaluated));
    WORKS(shiftvit::apply_evaluation(context, pipeline, values, 1, 1, 1, same));
    CHECK(std::equal(evaluated, evaluated + 3, same));
}

static std::int32_t count_bad(std::size_t, svit_status, const char *, void *)
{
    return 0;
}

static void test_data_sets_tell(shiftvit::context &context)
{
    const std::uint8_t pixels[2 * 1 * 1 * 3] = {0, 10, 20, 20, 30, 40};
    const float targets[4] = {1, 0, 0, 1};
    shiftvit::dataset data, labelled;
    WORKS(data.memory_targets(context, pixels, targets, 2, 1, 1, 3, 2));
    WORKS(labelled.synthetic(context, 1, SVIT_SPLIT_TEST, 20));
    float read[2] = {};
    WORKS(data.targets(1, read));
    CHECK(read[0] == 0 && read[1] == 1);
    std::int32_t label = -1;
    WORKS(labelled.label(13, label));
    CHECK(label == 3);
    double mean[3], variance[3];
    WORKS(data.statistics(1, mean, variance));
    CHECK(mean[0] == 10 && mean[1] == 20 && mean[2] == 30);
    std::size_t bad = 9;
    WORKS(labelled.verify(count_bad, nullptr, bad));
    CHECK(bad == 0);
    std::uint64_t one = 0, two = 0;
    WORKS(data.fingerprint(one));
    WORKS(labelled.fingerprint(two));
    CHECK(one != 0 && one != two);
}

// A call of the C interface ends as those of the classes do.
static void test_c_calls()
{
    const float logits[4] = {1, 0, 0, 1};
    const std::int32_t labels[2] = {0, 1}, wrong[2] = {0, 5};
    float loss = 0;
    svit_error record = shiftvit::error_record();
    WORKS(shiftvit::check(svit_cross_entropy(logits, labels, 2, 2, 0, &loss, nullptr, &record),
                          record));
    CHECK(loss > 0.31f && loss < 0.32f);
    FAILS(shiftvit::check(svit_cross_entropy(logits, wrong, 2, 2, 0, &loss, nullptr, &record),
                          record),
          SVIT_E_ARGUMENT, "labels");
}

static void test_fields_are_described()
{
    std::string json;
    WORKS(shiftvit::config_fields("training", json));
    CHECK(json.front() == '[' && json.find("\"label_smoothing\"") != std::string::npos);
    FAILS(shiftvit::config_fields("none", json), SVIT_E_ARGUMENT, "none");
}

// Results for which there is no memory fail as the library does, and leave what was there.
static void test_no_memory_for_a_result(shiftvit::context &context)
{
    shiftvit::model model = small_model(context);
    const auto config = shiftvit::model_config();
    std::vector<std::uint8_t> file = {7};
    std::string text = "before";
    available = 100; // less than each result
    const svit_status codes[] = {code_of([&] { return model.save_memory(file); }),
                                 code_of([&] { return shiftvit::to_json(config, text); }),
                                 code_of([&] { return context.describe(text); })};
    available = SIZE_MAX;
    for (svit_status code : codes)
        CHECK(code == SVIT_E_MEMORY);
    CHECK(said.find("could not be allocated") != std::string::npos);
    CHECK(file.size() == 1 && text == "before");
    WORKS(context.describe(text));
}

static void test_folder_lock(shiftvit::context &context, const std::string &folder)
{
    const std::string locked = folder + "/locked", file = locked + "/file";
    shiftvit::folder_lock lock, second;
    WORKS(lock.create(context, locked.c_str()));
    FAILS(second.create(context, locked.c_str()), SVIT_E_STATE, locked);
    CHECK(code_of([&] {
              return shiftvit::detail::call(svit_file_replace, file.c_str(), "x", std::size_t(1));
          }) == SVIT_OK);
    CHECK(lock.has("file"));
    WORKS(lock.remove("file"));
    CHECK(!lock.has("file"));
}

static void test_model_files(shiftvit::context &context, const std::string &folder)
{
    shiftvit::model model = small_model(context), copy, mapped, named;
    std::vector<std::uint8_t> file;
    WORKS(model.save_memory(file));
    WORKS(copy.load_memory(context, file.data(), file.size()));
    std::int64_t shape[8];
    std::size_t rank = 0;
    const char *bias = model.parameter_name(model.parameter_count() - 1);
    WORKS(copy.parameter_shape(bias, shape, rank));
    CHECK(rank == 1 && shape[0] == 10);
    bool trainable = false;
    WORKS(copy.get_trainable(bias, trainable));
    CHECK(trainable);
    WORKS(copy.set_trainable(bias, false));
    WORKS(copy.get_trainable(bias, trainable));
    CHECK(!trainable);
    std::memset(&trainable, 0xa5,
                1); // as an uninitialised one may be: only a result is written to it
    FAILS(copy.get_trainable("none", trainable), SVIT_E_ARGUMENT, "none");
    unsigned char byte = 0;
    std::memcpy(&byte, &trainable, 1);
    CHECK(byte == 0xa5);
    WORKS(copy.add_classes(2, 1));
    WORKS(copy.parameter_shape(bias, shape, rank));
    CHECK(shape[0] == 12);
    FAILS(copy.load_into((folder + "/none.safetensors").c_str(), nullptr, 0), SVIT_E_IO, "none");
    svit_load_report report = shiftvit::load_report();
    WORKS(model.save((folder + "/ten.safetensors").c_str()));
    WORKS(copy.load_into((folder + "/ten.safetensors").c_str(), nullptr,
                         SVIT_LOAD_SKIP_SHAPE_MISMATCH, &report));
    CHECK(report.mismatched == 2 && report.loaded == model.parameter_count() - 2);
    FAILS(copy.whiten(nullptr, 1), SVIT_E_ARGUMENT, "");
    const std::string onnx = folder + "/model.onnx", names = folder + "/mapped.safetensors";
    WORKS(model.export_onnx(onnx.c_str()));
    FAILS(model.export_onnx("/nowhere/model.onnx"), SVIT_E_IO, "/nowhere");
    // Only a ViT has the names of timm.
    FAILS(model.save_mapped(names.c_str(), "timm"), SVIT_E_UNSUPPORTED, "timm");
    WORKS(model.save(names.c_str()));
    auto config = shiftvit::model_config();
    WORKS(model.get_config(config));
    WORKS(named.load_with_config(context, config, names.c_str()));
    WORKS(mapped.load_mapped(context, config, names.c_str(), "{}"));
    std::vector<float> before(10), after(10, 1);
    WORKS(model.get_parameter(bias, before.data(), 10));
    WORKS(mapped.get_parameter(bias, after.data(), 10));
    CHECK(before == after);
    WORKS(named.get_parameter(bias, after.data(), 10));
    CHECK(before == after);
}

static void test_checkpoint(shiftvit::context &context, const std::string &folder)
{
    const std::string path = folder + "/checkpoint.safetensors";
    const char *const keys[] = {"mine"}, *const values[] = {"17"};
    shiftvit::model model = small_model(context);
    shiftvit::optimizer optimizer;
    shiftvit::session session, none;
    WORKS(optimizer.create(model));
    WORKS(session.create(model));
    WORKS(session.set_counter(5));
    WORKS(shiftvit::checkpoint::save(path.c_str(), model, optimizer, session, keys, values, 1));
    WORKS(session.set_counter(6));
    shiftvit::checkpoint saved;
    WORKS(saved.open(context, path.c_str()));
    std::uint64_t value = 0;
    WORKS(saved.get_u64("session.counter", value));
    CHECK(value == 5 && std::string(saved.value("mine")) == "17" && !saved.value("yours"));
    WORKS(saved.restore(model, optimizer, none));
    CHECK(session.counter() == 6);
    WORKS(saved.restore(model, optimizer, session));
    CHECK(session.counter() == 5);

    // The optimiser that a trainer lends.
    shiftvit::dataset data;
    WORKS(data.synthetic(context, 1, SVIT_SPLIT_TRAIN, 32));
    shiftvit::trainer trainer;
    auto settings = shiftvit::trainer_config();
    settings.batch = 32;
    WORKS(trainer.create(context, model, data, shiftvit::dataset(), settings,
                         shiftvit::optimizer_config(), shiftvit::pipeline_config()));
    svit_trainer_event event;
    WORKS(trainer.step(event));
    WORKS(shiftvit::checkpoint::save(path.c_str(), model, trainer.optimizer(), none));
    WORKS(saved.restore(model, trainer.optimizer(), none));
    CHECK(trainer.optimizer().steps() == 0);
    WORKS(saved.open(context, path.c_str()));
    WORKS(saved.restore(model, trainer.optimizer(), none));
    CHECK(trainer.optimizer().steps() == 1);
    WORKS(shiftvit::checkpoint::save(path.c_str(), model, {}, none)); /* which is a false one */
}

static void test_sessions_tell(shiftvit::context &context)
{
    auto config = shiftvit::model_config();
    WORKS(shiftvit::preset(config, "vit-cifar100"));
    config.depth = 1;
    shiftvit::model model;
    WORKS(model.create(context, config, 1));
    auto plan = shiftvit::session_config();
    plan.mode = SVIT_MODE_TRAIN;
    plan.max_batch = 1;
    std::uint64_t needed = 0;
    WORKS(shiftvit::session::memory_needed(model, plan, needed));
    shiftvit::session session;
    WORKS(session.create(model, plan));
    CHECK(needed == session.memory());
    std::size_t heads = 0, tokens = 0, width = 0, channels = 0;
    WORKS(session.attention_size(heads, tokens));
    CHECK(heads == 4 && tokens == 144);
    WORKS(session.layer_shape(session.layer_name(0), width, channels));
    CHECK(width == 144 && channels == 64);
    std::vector<float> image(session.input_size()), attention(heads * tokens * tokens), logits(100);
    WORKS(session.forward_attention(image.data(), 1, logits.data(), attention.data(),
                                    attention.size()));
    float sum = 0;
    for (std::size_t i = 0; i < tokens; i++)
        sum += attention[i];
    CHECK(sum > 0.999f && sum < 1.001f);

    shiftvit::optimizer optimizer;
    WORKS(optimizer.create(model));
    const char *bias = model.parameter_name(model.parameter_count() - 1);
    std::vector<float> gradient(100, 1), before(100), after(100);
    WORKS(model.get_parameter(bias, before.data(), 100));
    WORKS(session.set_gradient(bias, gradient.data(), 100));
    double min = 0, max = 0;
    WORKS(optimizer.bounds("learning_rate", min, max));
    CHECK(min == 0 && max > 1);
    WORKS(optimizer.set_parameter(bias, "lr_scale", 0));
    WORKS(optimizer.set_parameter(bias, "weight_decay", 0));
    WORKS(optimizer.step(session));
    WORKS(model.get_parameter(bias, after.data(), 100));
    CHECK(before == after);
}

static void test_classes_and_measures(shiftvit::context &context)
{
    shiftvit::model model = small_model(context);
    const char *const names[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
    WORKS(model.set_classes(names, 10));
    shiftvit::dataset data, few;
    WORKS(data.synthetic(context, 1, SVIT_SPLIT_TRAIN, 20));
    WORKS(few.slice(data, 0, 4));
    shiftvit::features old, added;
    WORKS(old.compute(model, data));
    WORKS(added.compute(model, few));
    CHECK(std::string(added.layer()).size() > 0 &&
          std::string(added.model_description()).size() > 0);
    WORKS(added.fit_class(model, "ten", old));
    CHECK(model.class_name(10) == std::string("ten"));

    const float logits[4] = {2, 0, 0, 2}, targets[4] = {1, 0, 0, 1};
    double precision[2] = {}, threshold = 0;
    WORKS(shiftvit::average_precision(context, logits, targets, 2, 2, precision));
    CHECK(precision[0] == 1 && precision[1] == 1);
    WORKS(shiftvit::choose_threshold(context, logits, 2, 2, 1, threshold));
    CHECK(threshold > 0.88 && threshold < 0.881); // the softmax of 2 and 0

    auto settings = shiftvit::trainer_config(), read = shiftvit::trainer_config();
    auto optimizer = shiftvit::optimizer_config();
    auto pipeline = shiftvit::pipeline_config();
    std::string json;
    settings.epochs = 7;
    WORKS(shiftvit::to_json(settings, optimizer, pipeline, json));
    WORKS(shiftvit::from_json(read, optimizer, pipeline, json.c_str()));
    CHECK(read.epochs == 7);
}

static void test_context_works(shiftvit::context &context)
{
    void *memory = context.allocate(100);
    CHECK(memory && reinterpret_cast<std::uintptr_t>(memory) % 64 == 0);
    context.release_memory(memory, 100);
    context.log(SVIT_LOG_INFO, "nobody listens");
    auto matmul = shiftvit::matmul();
    double gflops = 0;
    matmul.m = matmul.n = matmul.k = 8;
    WORKS(context.benchmark(matmul, 0.001, gflops));
    CHECK(gflops > 0);
}

int main(int count, char **arguments)
{
    if (count != 2)
        return 2;
    shiftvit::context context;
    WORKS(context.create());
    test_images(context, arguments[1]);
    test_data_sets_tell(context);
    test_c_calls();
    test_fields_are_described();
    test_no_memory_for_a_result(context);
    test_folder_lock(context, arguments[1]);
    test_model_files(context, arguments[1]);
    test_checkpoint(context, arguments[1]);
    test_sessions_tell(context);
    test_classes_and_measures(context);
    test_context_works(context);
    std::printf("%d failures\n", failures);
    return failures != 0;
}
