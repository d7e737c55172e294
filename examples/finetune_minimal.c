/* Gives a trained model new classes, those of a folder of images with a subfolder for each class:
 *     finetune_minimal MODEL FOLDER OUT.safetensors [LAST_BLOCK]
 * MODEL is a model file, or a checkpoint of timm, transformers or OpenCLIP. Everything learns, or,
 * with LAST_BLOCK, a pattern of parameter names such as 'layers.2.*' or 'blocks.11.*', these and
 * the new head. */
#include <shiftvit/shiftvit.h>
#include <stdio.h>
#include <stdlib.h>

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
    if (argc != 4 && argc != 5) {
        fprintf(stderr, "usage: finetune_minimal MODEL FOLDER OUT [LAST_BLOCK]\n");
        return 2;
    }
    svit_context *context;
    check(svit_context_create(&context, NULL, &err));
    svit_model *model; /* also says how an image becomes its input */
    check(svit_model_open(&model, context, argv[1], NULL, NULL, &err));
    svit_pipeline_config pipeline;
    check(svit_model_get_pipeline(model, &pipeline, sizeof pipeline, &err));
    svit_dataset *data;
    check(svit_dataset_folder_pipeline(&data, context, argv[2], &pipeline, &err));
    check(svit_model_replace_head(model, (uint32_t)svit_dataset_classes(data), 1, &err));
    if (argc == 5) {
        check(svit_model_set_trainable(model, "*", 0, &err)); /* no gradients, no updates ... */
        check(svit_model_set_trainable(model, "head*", 1, &err));
        check(svit_model_set_trainable(model, argv[4], 1, &err)); /* ... but of these two */
    }
    svit_trainer_config training; /* the rule's epochs, rates and so on for so many images */
    svit_optimizer_config optimizer;
    check(svit_fine_tuning_settings(model, svit_dataset_count(data), &training, sizeof training,
                                    &optimizer, sizeof optimizer, &pipeline, sizeof pipeline,
                                    &err));
    svit_trainer *trainer; /* the class names come from the folder */
    check(svit_trainer_create(&trainer, context, model, data, NULL, &training, &optimizer,
                              &pipeline, &err));
    check(svit_trainer_run(trainer, report, NULL, &err));
    check(svit_model_save(model, argv[3], &err));
    svit_trainer_free(trainer);
    svit_dataset_free(data);
    svit_model_free(model);
    svit_context_free(context);
}
