/* The files that a model is read from: weights in one file or in several, and what lies beside
 * them. */
#ifndef EXAMPLE_MODEL_FILES_H
#define EXAMPLE_MODEL_FILES_H

/* What a file is to the model that is opened. */
enum {
    MODEL_FILE_OTHER, /* it is not read */
    MODEL_FILE_WHOLE, /* it has all weights */
    MODEL_FILE_PART,  /* it has some of the weights, lists them, or is of an adapter or its base */
    MODEL_FILE_SIDE   /* a JSON file beside the weights */
};

/* Says which of them the file `path` is to the model `given`: the path of a file or folder that
 * svit_model_open takes. Files are compared by identity. What is not there is MODEL_FILE_OTHER. */
int model_files_role(const char *given, const char *path);

#endif
