/* The list of optimisers, one line each: SV_OPTIMIZER(CONSTANT, name). A file that defines
 * SV_OPTIMIZER and then includes this one gets an expansion for each optimiser.
 *
 * The line stands for the public constant SVIT_OPTIMIZER_<CONSTANT>, the word `name` of the JSON
 * field "optimizer", the source file lib/optim/<name>.c (meson.build reads it from here), and the
 * operations sv_optimizer_<name> that this file defines.
 *
 * To add an optimiser: write its file, add its line, and add its constant to
 * <shiftvit/optimizer.h>. */
SV_OPTIMIZER(ADAMW, adamw)
SV_OPTIMIZER(SGD, sgd)
SV_OPTIMIZER(MUON, muon)
SV_OPTIMIZER(LION, lion)
