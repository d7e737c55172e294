/* Imports and checks a caller's configuration of a trainer. */
#include "trainer/trainer.h"

enum { CONFIG_LEAST = offsetof(svit_trainer_config, loss) }; /* of library 0.1 */

/* svit_trainer_config_to_json checks every field. It gets no folder, because a path need not be
 * valid UTF-8, and no description, which trainer_create.c checks with a message of its own. */
static svit_status check(svit_trainer_config config, svit_error *err)
{
    config.folder = config.description = NULL;
    return svit_trainer_config_to_json(&config, NULL, 0, NULL, err);
}

svit_status sv_trainer_config_import(svit_trainer_config *local, const svit_trainer_config *config,
                                     svit_error *err)
{
    SVIT_TRY(svit_trainer_config_init(local, sizeof *local));
    if (config)
        SVIT_TRY(sv_config_import(local, sizeof *local, config, CONFIG_LEAST, "svit_trainer_config",
                                  err));
    return check(*local, err);
}
