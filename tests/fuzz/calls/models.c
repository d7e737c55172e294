/* Operations of models. */
#include "../configs.h"
#include "calls.h"

#include <stdlib.h>

static const char *const patterns[] = {"*", "head*", "blocks.0.*", "nothing", "*bias"};
static const char *const maps[] = {NULL, "timm",           "huggingface",
                                   "{}", "{\"*\": \"*\"}", "{\"head*\": null}"};

static const char *map(void)
{
    return maps[calls_choose(6)];
}

/* The name of one of the model's parameters, or one that it does not have. */
static const char *parameter(const svit_model *model)
{
    const unsigned index = calls_choose(64);
    const char *name = svit_model_parameter_name(model, index);
    return name ? name : "nothing.weight";
}

static size_t elements(const svit_model *model, const char *name)
{
    int64_t shape[8];
    size_t rank, count = 1;
    if (!TRY(svit_model_parameter_shape(model, name, shape, &rank, ERR)))
        return calls_choose(9);
    for (size_t axis = 0; axis < rank; axis++)
        count *= (size_t)shape[axis];
    return count <= NUMBERS && calls_choose(8) ? count : calls_choose(9);
}

static void create(void)
{
    svit_model_config config;
    fuzz_model_config(&config, calls_choose(3));
    CREATE(models, svit_model_free,
           svit_model_create(OUT(models), fuzz_context(), &config, calls_choose(4), ERR));
}

static void create_random(void)
{
    svit_model_config config;
    small_config(&config, calls_input());
    CREATE(models, svit_model_free,
           svit_model_create(OUT(models), fuzz_context(), &config, 1, ERR));
}

static void load(void)
{
    CREATE(models, svit_model_free,
           svit_model_load(OUT(models), fuzz_context(), calls_file("model"), ERR));
}

static void load_with_config(void)
{
    svit_model_config config;
    fuzz_model_config(&config, calls_choose(3));
    CREATE(models, svit_model_free,
           svit_model_load_with_config(OUT(models), fuzz_context(), &config, calls_file("model"),
                                       ERR));
}

static void load_mapped(void)
{
    svit_model_config config;
    fuzz_model_config(&config, calls_choose(3));
    CREATE(models, svit_model_free,
           svit_model_load_mapped(OUT(models), fuzz_context(), calls_choose(4) ? &config : NULL,
                                  calls_file("model"), map(), ERR));
}

static void open_checkpoint(void)
{
    static const char *const fields[] = {NULL, "{}", "{\"heads\": 2, \"norm_eps\": 1e-6}"};
    static const char *const names[] = {NULL, "vit_tiny_patch16_224", "nothing"};
    static char text[200];
    const svit_open_options options = {.struct_size = sizeof options,
                                       .name = names[calls_choose(3)],
                                       .fields = fields[calls_choose(3)]};
    svit_load_report report = {.struct_size = sizeof report, .text = text, .capacity = sizeof text};
    CREATE(models, svit_model_free,
           svit_model_open(OUT(models), fuzz_context(), calls_file("model"),
                           calls_choose(2) ? &options : NULL, calls_choose(2) ? &report : NULL,
                           ERR));
}

static void load_into(void)
{
    static char text[200];
    svit_load_report report = {.struct_size = sizeof report, .text = text};
    report.capacity = calls_choose(2) ? sizeof text : calls_choose(9);
    TRY(svit_model_load_into(ANY(models), calls_file("model"), map(), calls_choose(8),
                             calls_choose(2) ? &report : NULL, ERR));
}

static void map_file(void)
{
    CREATE(models, svit_model_free,
           svit_model_map(OUT(models), fuzz_context(), calls_file("model"), ERR));
}

static void through_memory(void)
{
    const svit_model *model = ANY(models);
    size_t bytes = 0;
    uint8_t *data = malloc(NUMBERS);
    FUZZ_CHECK(data);
    if (TRY(svit_model_save_memory(model, data, NUMBERS, &bytes, ERR)))
        CREATE(models, svit_model_free,
               svit_model_load_memory(OUT(models), fuzz_context(), data,
                                      bytes - (calls_choose(8) ? 0 : 1), ERR));
    free(data);
}

static void save(void)
{
    TRY(svit_model_save(ANY(models), calls_file("model"), ERR));
}

static void save_as(void)
{
    TRY(svit_model_save_as(ANY(models), calls_file("model"), (int32_t)calls_choose(5), ERR));
}

static void save_mapped(void)
{
    TRY(svit_model_save_mapped(ANY(models), calls_file("model"), map(), ERR));
}

static void export_onnx(void)
{
    svit_onnx_options options;
    svit_onnx_options_init(&options, sizeof options);
    options.output = (int32_t)calls_choose(3);
    options.preprocessing = (int32_t)calls_choose(3);
    TRY(svit_model_export_onnx(ANY(models), calls_file("onnx"), calls_choose(2) ? &options : NULL,
                               ERR));
}

static void set_classes(void)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    TRY(svit_model_set_classes(ANY(models), names, calls_choose(5), ERR));
}

static void set_pipeline(void)
{
    svit_pipeline_config pipeline = small_pipeline();
    pipeline.channels = calls_choose(4) ? 3 : calls_choose(6);
    TRY(svit_model_set_pipeline(ANY(models), calls_choose(4) ? &pipeline : NULL, ERR));
}

static void copy_pipeline(void)
{
    svit_pipeline_config pipeline;
    if (TRY(svit_model_get_pipeline(ANY(models), &pipeline, sizeof pipeline, ERR)))
        TRY(svit_model_set_pipeline(ANY(models), &pipeline, ERR));
}

static void set_threshold(void)
{
    svit_model *model = ANY(models);
    if (TRY(svit_model_set_threshold(model, (double)calls_choose(4) / 2.0 - 0.25, ERR)))
        FUZZ_CHECK(svit_model_threshold(model) >= 0 && svit_model_threshold(model) <= 1);
}

static void set_text_head(void)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    svit_model *model = ANY(models);
    svit_model_config config;
    if (TRY(svit_model_get_config(model, &config, sizeof config, ERR)) &&
        config.num_classes <= NUMBERS / 4)
        TRY(svit_model_set_text_head(model, calls_numbers, names, calls_choose(5),
                                     calls_choose(4) ? config.num_classes : calls_choose(9),
                                     calls_choose(3), 0.5, ERR));
    FUZZ_CHECK(!svit_model_text_class_name(model, 4));
}

static void set_output(void)
{
    TRY(svit_model_set_output(ANY(models), (int32_t)calls_choose(5), ERR));
}

static void set_trainable(void)
{
    TRY(svit_model_set_trainable(ANY(models), patterns[calls_choose(5)], (int32_t)calls_choose(3),
                                 ERR));
}

static void get_trainable(void)
{
    int32_t trainable;
    const svit_model *model = ANY(models);
    TRY(svit_model_get_trainable(model, parameter(model), &trainable, ERR));
}

static void get_parameter(void)
{
    const svit_model *model = ANY(models);
    const char *name = parameter(model);
    TRY(svit_model_get_parameter(model, name, calls_results, elements(model, name), ERR));
}

static void set_parameter(void)
{
    svit_model *model = ANY(models);
    const char *name = parameter(model);
    TRY(svit_model_set_parameter(model, name, calls_numbers, elements(model, name), ERR));
}

static void whiten(void)
{
    TRY(svit_model_whiten(ANY(models), calls_numbers, calls_choose(5), ERR));
}

static void replace_head(void)
{
    TRY(svit_model_replace_head(ANY(models), calls_choose(6), 3, ERR));
}

static void add_classes(void)
{
    TRY(svit_model_add_classes(ANY(models), calls_choose(3), 3, ERR));
}

static void truncate_model(void)
{
    static const char *const layers[] = {"blocks.0", "layers.0.blocks.0", "layers.1.blocks.0",
                                         "blocks.1", "features"};
    TRY(svit_model_truncate(ANY(models), layers[calls_choose(5)], ERR));
}

static void add_lora(void)
{
    TRY(svit_model_add_lora(ANY(models), calls_choose(4), calls_choose(4), 1, ERR));
}

static void merge_lora(void)
{
    TRY(svit_model_merge_lora(ANY(models), ERR));
}

static void multiply_adds(void)
{
    svit_model_config config;
    uint64_t forward, training;
    if (TRY(svit_model_get_config(ANY(models), &config, sizeof config, ERR)) &&
        TRY(svit_model_multiply_adds(&config, &forward, &training, ERR)))
        FUZZ_CHECK(forward > 0 && training > forward);
}

static void fine_tuning(void)
{
    svit_trainer_config trainer;
    svit_optimizer_config optimizer;
    svit_pipeline_config pipeline;
    const unsigned images = calls_choose(30000);
    if (TRY(svit_fine_tuning_settings(ANY(models), images, &trainer, sizeof trainer, &optimizer,
                                      sizeof optimizer, &pipeline, sizeof pipeline, ERR)))
        FUZZ_CHECK(images > 0 && trainer.epochs > 0);
}

static const calls_operation operations[] = {
    create,        create_random,  load,          load_with_config, load_mapped,     load_into,
    map_file,      through_memory, save,          save_as,          save_mapped,     export_onnx,
    set_classes,   set_pipeline,   copy_pipeline, set_output,       set_trainable,   get_trainable,
    get_parameter, set_parameter,  whiten,        replace_head,     add_classes,     add_lora,
    merge_lora,    multiply_adds,  set_threshold, set_text_head,    open_checkpoint, fine_tuning,
    truncate_model};
const calls_table calls_of_models = CALLS_TABLE(operations);
