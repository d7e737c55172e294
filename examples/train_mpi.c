/* Trains a small ShiftViT with all processes of an MPI job, on synthetic images or on CIFAR-10, and
 * saves it:
 *     mpirun -n 4 train_mpi MODEL.safetensors [CIFAR10_FOLDER]
 * The file is the same for any number of processes. */
#include <shiftvit/mpi.h>
#include <shiftvit/shiftvit.h>
#include <stdio.h>
#include <stdlib.h>

enum { IMAGES = 4000, LEAVES = 16 };
static svit_error err = {.struct_size = sizeof err};

/* A failure of the trainer is the same on all processes; another one ends the job. */
static void check(svit_status status)
{
    if (status != SVIT_OK) {
        fprintf(stderr, "train_mpi: %s\n", err.message);
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
}

static int32_t show(const svit_trainer_event *event, void *user)
{
    const svit_reducer *place = user;
    if (event->kind == SVIT_EVENT_EPOCH && place->rank == 0)
        printf("epoch %d: loss %.4f\n", (int)event->epoch, event->train_loss);
    return 0; /* goes on */
}

int main(int argc, char **argv)
{
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
    svit_mpi *mpi; /* a thread that exchanges gradients while others are computed */
    svit_reducer place;
    check(svit_mpi_create(&mpi, MPI_COMM_WORLD, LEAVES, &err));
    check(svit_mpi_get_reducer(mpi, &place, sizeof place, &err));
    svit_context *context;
    check(svit_context_create(&context, NULL, &err));
    svit_dataset *data;
    check(argc > 2 ? svit_dataset_cifar10(&data, context, argv[2], SVIT_SPLIT_TRAIN, &err)
                   : svit_dataset_synthetic(&data, context, 1, SVIT_SPLIT_TRAIN, IMAGES, &err));
    svit_model_config config;
    check(svit_model_config_from_json(&config, sizeof config, "{\"dim\": 48, \"blocks\": [2, 2]}",
                                      &err));
    svit_model *model; /* all processes begin with the same weights: the seed is the same */
    check(svit_model_create(&model, context, &config, 1, &err));
    svit_trainer_config plan;
    svit_trainer_config_init(&plan, sizeof plan);
    plan.epochs = 3;
    plan.batch = 64;
    plan.reducer = &place;
    svit_trainer *trainer; /* each process decodes and computes its share of each batch */
    check(svit_trainer_create(&trainer, context, model, data, NULL, &plan, NULL, NULL, &err));
    check(svit_trainer_run(trainer, show, &place, &err));
    if (place.rank == 0)
        check(svit_model_save(model, argc > 1 ? argv[1] : "model.safetensors", &err));
    svit_trainer_free(trainer);
    svit_model_free(model);
    svit_dataset_free(data);
    svit_context_free(context);
    svit_mpi_free(mpi);
    MPI_Finalize();
}
