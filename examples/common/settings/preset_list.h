/* The list of presets. */
#ifndef EXAMPLE_PRESET_LIST_H
#define EXAMPLE_PRESET_LIST_H

/* Prints a line for each preset, with its name, input size and classes, and the training of those
 * that have one; with `json` an object. Ends the program. */
void preset_list_print(int json);

#endif
