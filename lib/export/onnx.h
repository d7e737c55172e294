/* The graphs of the architectures, and the file around them. */
#ifndef SV_ONNX_H
#define SV_ONNX_H

#include "config/config.h"
#include "export/onnx_graph.h"
#include "models/architecture.h"

#include <shiftvit/onnx.h>

extern const sv_config_type sv_onnx_options_type;

/* Names of the graph's inputs. */
#define SV_ONNX_IMAGES "images"
#define SV_ONNX_BYTES "bytes"

/* The graph of an architecture: adds its nodes from images[N, graph->height, graph->width,
 * in_channels] to the logits [N, num_classes], which it returns. Each folder of an architecture in
 * lib/models has one such function here. */
#define SV_ONNX_DECLARE(constant, prefix, paper_weights)                                           \
    sv_onnx_value sv_##prefix##_onnx(sv_onnx_graph *graph, const sv_onnx_value *images);
SV_ARCHITECTURES(SV_ONNX_DECLARE)

/* Sets graph->height and graph->width to the evaluation size of the model's pipeline. Fails unless
 * the model accepts that size and the pipeline's channels, and its numbers are those of float32. */
svit_status sv_onnx_pipeline_size(sv_onnx_graph *graph, svit_error *err);

/* Adds the evaluation's steps after the source step, from bytes to images. */
sv_onnx_value sv_onnx_pipeline(sv_onnx_graph *graph, const sv_onnx_value *bytes);

/* The name of the graph's output, and its columns: num_classes, or the probabilities of texts. */
const char *sv_onnx_output_name(const svit_onnx_options *options);
size_t sv_onnx_output_classes(const svit_onnx_options *options, const svit_model *model);

/* SVIT_E_ARGUMENT if the model has no probabilities, and they are wanted. */
svit_status sv_onnx_output_check(const svit_onnx_options *options, const svit_model *model,
                                 svit_error *err);

/* Ends the graph with its output, from the model's logits. */
void sv_onnx_output(sv_onnx_graph *graph, const svit_onnx_options *options,
                    const sv_onnx_value *logits);

/* Writes the file. SVIT_E_UNSUPPORTED, SVIT_E_IO, SVIT_E_MEMORY. */
svit_status sv_onnx_file_write(const sv_onnx_graph *graph, const svit_onnx_options *options,
                               const char *path, svit_error *err);

#endif
