/* Gives a trained model new classes: a new head and the last block learn from a folder of images,
 * with a subfolder for each class. Everything below stays as it is:
 *     finetune_minimal MODEL.safetensors FOLDER OUT.safetensors LAST_BLOCK
 * LAST_BLOCK is a pattern of parameter names, such as 'layers.2.*' or 'blocks.11.*'. */
#include <shiftvit/shiftvit.h>
#include <stdio.h>
#include <stdlib.h>

enum { EPOCHS = 10, BATCH = 32 };
static svit_error err = {.struct_size = sizeof err};

static void check(svit_status status)
{
    if (status != SVIT_OK) {
        fprintf(stderr, "finetune_minimal: %s\n", err.message);
        exit(EXIT_FAILURE);
    }
}

static int32_t report(const svit_trainer_event *event, void *user)
{
    (void)user;
    if (event->kind == SVIT_EVENT_EPOCH)
        printf("epoch %d: loss %.4f\n", (int)event->epoch, event->train_loss);
    return 0; /* go on */
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: finetune_minimal MODEL FOLDER OUT LAST_BLOCK\n");
        return 2;
    }
    svit_context *context;
    check(svit_context_create(&context, NULL, &err));
    svit_model *model; /* its file also says how an image becomes the model's input */
    check(svit_model_load(&model, context, argv[1], &err));
    svit_pipeline_config pipeline;
    check(svit_model_get_pipeline(model, &pipeline, sizeof pipeline, &err));
    svit_dataset *data;
    check(svit_dataset_folder_pipeline(&data, context, argv[2], &pipeline, &err));
    uint32_t classes = (uint32_t)svit_dataset_classes(data);
    check(svit_model_replace_head(model, classes, 1, &err));
    check(svit_model_set_trainable(model, "*", 0, &err)); /* no gradients, no updates ... */
    check(svit_model_set_trainable(model, "head*", 1, &err));
    check(svit_model_set_trainable(model, argv[4], 1, &err)); /* ... but of these two */
    svit_trainer_config training;
    svit_trainer_config_init(&training, sizeof training);
    training.epochs = EPOCHS;
    training.batch = BATCH;
    svit_trainer *trainer; /* AdamW; the class names come from the folder */
    check(svit_trainer_create(&trainer, context, model, data, NULL, &training, NULL, &pipeline,
                              &err));
    check(svit_trainer_run(trainer, report, NULL, &err));
    check(svit_model_save(model, argv[3], &err));
    svit_trainer_free(trainer);
    svit_dataset_free(data);
    svit_model_free(model);
    svit_context_free(context);
}
