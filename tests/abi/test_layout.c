/* Checks the layout of every public struct on machines with 64-bit longs and pointers. Bindings in
 * other languages have written this layout down. No struct has padding, so each new field makes the
 * struct larger, and struct_size tells which fields a caller knows. */
#include <shiftvit/shiftvit.h>

#include <stdio.h>

#if defined(__LP64__)

#define AT(type, field, offset, bytes)                                                             \
    _Static_assert(offsetof(type, field) == (offset) && sizeof(((type *)0)->field) == (bytes),     \
                   #type "." #field " has moved");
#define SUM(type, field, offset, bytes) +(bytes)

/* Fails if a field is not at its offset, or if there are unused bytes between fields or after the
 * last one. */
#define LAYOUT(type, bytes, FIELDS)                                                                \
    FIELDS(AT, type)                                                                               \
    _Static_assert(sizeof(type) == (bytes), "the size of " #type " has changed");                  \
    _Static_assert((0 FIELDS(SUM, type)) == (bytes),                                               \
                   #type " has padding, or a field is not listed");

/* clang-format off */
#define SVIT_CONTEXT_CONFIG(F, T) \
    F(T, struct_size, 0, 4) \
    F(T, threads, 4, 4) \
    F(T, allocate, 8, 8) \
    F(T, release, 16, 8) \
    F(T, allocator_user, 24, 8) \
    F(T, log, 32, 8) \
    F(T, log_user, 40, 8) \
    F(T, gemm, 48, 8) \
    F(T, parallel_for, 56, 8) \
    F(T, parallel_for_user, 64, 8) \
    F(T, pin, 72, 4) \
    F(T, max_image_pixels, 76, 4) \
    F(T, stop, 80, 8) \
    F(T, stop_user, 88, 8)
LAYOUT(svit_context_config, 96, SVIT_CONTEXT_CONFIG)

#define SVIT_LOAD_REPORT(F, T) \
    F(T, struct_size, 0, 4) \
    F(T, loaded, 4, 4) \
    F(T, missing, 8, 4) \
    F(T, mismatched, 12, 4) \
    F(T, extra, 16, 4) \
    F(T, buffers, 20, 4) \
    F(T, text, 24, 8) \
    F(T, capacity, 32, 8) \
    F(T, needed, 40, 8)
LAYOUT(svit_load_report, 48, SVIT_LOAD_REPORT)

#define SVIT_OPEN_OPTIONS(F, T) \
    F(T, struct_size, 0, 4) \
    F(T, reserved, 4, 4) \
    F(T, name, 8, 8) \
    F(T, fields, 16, 8) \
    F(T, prefix, 24, 8) \
    F(T, base, 32, 8)
LAYOUT(svit_open_options, 40, SVIT_OPEN_OPTIONS)

#define SVIT_LOADER_CONFIG(F, T) \
    F(T, struct_size, 0, 4) \
    F(T, batch, 4, 4) \
    F(T, seed, 8, 8) \
    F(T, shuffle, 16, 4) \
    F(T, augment, 20, 4) \
    F(T, prefetch, 24, 4) \
    F(T, sampling, 28, 4) \
    F(T, leaves, 32, 4) \
    F(T, rank, 36, 4) \
    F(T, ranks, 40, 4) \
    F(T, shuffle_window, 44, 4)
LAYOUT(svit_loader_config, 48, SVIT_LOADER_CONFIG)

#define SVIT_ONNX_OPTIONS(F, T) \
    F(T, struct_size, 0, 4) \
    F(T, output, 4, 4) \
    F(T, preprocessing, 8, 4)
LAYOUT(svit_onnx_options, 12, SVIT_ONNX_OPTIONS)

#define SVIT_PRODUCT(F, T) \
    F(T, struct_size, 0, 4) \
    F(T, form, 4, 4) \
    F(T, m, 8, 4) \
    F(T, n, 12, 4) \
    F(T, k, 16, 4) \
    F(T, heads, 20, 4) \
    F(T, compute, 24, 4)
LAYOUT(svit_matmul, 28, SVIT_PRODUCT)

#define SVIT_MODEL_CONFIG(F, T) \
    F(T, struct_size, 0, 4) \
    F(T, architecture, 4, 4) \
    F(T, input_height, 8, 4) \
    F(T, input_width, 12, 4) \
    F(T, in_channels, 16, 4) \
    F(T, num_classes, 20, 4) \
    F(T, patch_size, 24, 4) \
    F(T, dim, 28, 4) \
    F(T, stages, 32, 4) \
    F(T, blocks, 36, 32) \
    F(T, num_div, 68, 4) \
    F(T, shift_pixel, 72, 4) \
    F(T, shift, 76, 4) \
    F(T, groups, 80, 4) \
    F(T, norm, 84, 4) \
    F(T, patch_norm, 88, 4) \
    F(T, final_norm, 92, 4) \
    F(T, patch_padding, 96, 4) \
    F(T, merge_padding, 100, 4) \
    F(T, classifier, 104, 4) \
    F(T, drop_path_rule, 108, 4) \
    F(T, init, 112, 4) \
    F(T, reserved, 116, 4) \
    F(T, mlp_ratio, 120, 8) \
    F(T, norm_eps, 128, 8) \
    F(T, dropout, 136, 8) \
    F(T, drop_path, 144, 8) \
    F(T, depth, 152, 4) \
    F(T, heads, 156, 4) \
    F(T, head_dim, 160, 4) \
    F(T, mlp_dim, 164, 4) \
    F(T, tokenizer, 168, 4) \
    F(T, spt_order, 172, 4) \
    F(T, attention, 176, 4) \
    F(T, temperature, 180, 4) \
    F(T, qkv_bias, 184, 4) \
    F(T, mlp_last_gelu, 188, 4) \
    F(T, pool, 192, 4) \
    F(T, head_layers, 196, 4) \
    F(T, head_units, 200, 32) \
    F(T, names, 232, 4) \
    F(T, lora_rank, 236, 4) \
    F(T, attention_dropout, 240, 8) \
    F(T, head_dropout, 248, 8) \
    F(T, stem, 256, 4) \
    F(T, mixer, 260, 4) \
    F(T, register_tokens, 264, 4) \
    F(T, distilled, 268, 4) \
    F(T, position_tokens, 272, 4) \
    F(T, position_height, 276, 4) \
    F(T, position_width, 280, 4) \
    F(T, patch_bias, 284, 4) \
    F(T, pre_norm, 288, 4) \
    F(T, layer_scale, 292, 4) \
    F(T, activation, 296, 4) \
    F(T, mlp, 300, 4) \
    F(T, head_norm, 304, 4) \
    F(T, token_mlp_dim, 308, 4) \
    F(T, lora_alpha, 312, 8) \
    F(T, class_token, 320, 4) \
    F(T, rope, 324, 4) \
    F(T, rope_axes, 328, 4) \
    F(T, rope_pairs, 332, 4) \
    F(T, rope_theta, 336, 8) \
    F(T, rope_offset, 344, 8) \
    F(T, rope_height, 352, 4) \
    F(T, rope_width, 356, 4) \
    F(T, no_key_bias, 360, 4) \
    F(T, qk_norm, 364, 4) \
    F(T, attention_norm, 368, 4) \
    F(T, mlp_norm, 372, 4) \
    F(T, pool_heads, 376, 4) \
    F(T, pool_mlp_dim, 380, 4) \
    F(T, rms_norm, 384, 4) \
    F(T, block, 388, 4) \
    F(T, mask_ratio, 392, 8)
LAYOUT(svit_model_config, 400, SVIT_MODEL_CONFIG)

#define SVIT_OPTIMIZER_CONFIG(F, T) \
    F(T, struct_size, 0, 4) \
    F(T, kind, 4, 4) \
    F(T, learning_rate, 8, 8) \
    F(T, beta1, 16, 8) \
    F(T, beta2, 24, 8) \
    F(T, epsilon, 32, 8) \
    F(T, weight_decay, 40, 8) \
    F(T, momentum, 48, 8) \
    F(T, clip_norm, 56, 8) \
    F(T, ema_momentum, 64, 8) \
    F(T, lr_start, 72, 8) \
    F(T, warmup_steps, 80, 8) \
    F(T, total_steps, 88, 8) \
    F(T, schedule, 96, 4) \
    F(T, decay_rule, 100, 4) \
    F(T, decay_exclude, 104, 4) \
    F(T, nesterov, 108, 4) \
    F(T, ema, 112, 4) \
    F(T, reserved, 116, 4) \
    F(T, sgd_form, 120, 4) \
    F(T, epsilon_form, 124, 4) \
    F(T, adamw_learning_rate, 128, 8) \
    F(T, lookahead_alpha, 136, 8) \
    F(T, swa_start, 144, 8) \
    F(T, layer_decay, 152, 8) \
    F(T, swa_every, 160, 8) \
    F(T, step_size, 168, 8) \
    F(T, step_factor, 176, 8) \
    F(T, restart_steps, 184, 8) \
    F(T, restart_factor, 192, 4) \
    F(T, lookahead, 196, 4) \
    F(T, group_count, 200, 4) \
    F(T, point_count, 204, 4) \
    F(T, groups, 208, 1920) \
    F(T, points, 2128, 256)
LAYOUT(svit_optimizer_config, 2384, SVIT_OPTIMIZER_CONFIG)

#define SVIT_PARAMETER_GROUP(F, T) \
    F(T, pattern, 0, 96) \
    F(T, lr_scale, 96, 8) \
    F(T, weight_decay, 104, 8) \
    F(T, trainable, 112, 4) \
    F(T, rule, 116, 4)
LAYOUT(svit_parameter_group, 120, SVIT_PARAMETER_GROUP)

#define SVIT_SCHEDULE_POINT(F, T) \
    F(T, fraction, 0, 8) \
    F(T, factor, 8, 8)
LAYOUT(svit_schedule_point, 16, SVIT_SCHEDULE_POINT)

#define SVIT_AUGMENT_STEP(F, T) \
    F(T, kind, 0, 4) \
    F(T, mode, 4, 4) \
    F(T, padding, 8, 4) \
    F(T, count, 12, 4) \
    F(T, magnitude, 16, 4) \
    F(T, size, 20, 4) \
    F(T, off_epoch, 24, 4) \
    F(T, reserved, 28, 4) \
    F(T, probability, 32, 8) \
    F(T, scale, 40, 16) \
    F(T, ratio, 56, 16) \
    F(T, brightness, 72, 8) \
    F(T, contrast, 80, 8) \
    F(T, saturation, 88, 8) \
    F(T, alpha, 96, 8) \
    F(T, hue, 104, 8)
LAYOUT(svit_augment_step, 112, SVIT_AUGMENT_STEP)

#define SVIT_PIPELINE_CONFIG(F, T) \
    F(T, struct_size, 0, 4) \
    F(T, source_height, 4, 4) \
    F(T, source_width, 8, 4) \
    F(T, resize_height, 12, 4) \
    F(T, resize_width, 16, 4) \
    F(T, output_height, 20, 4) \
    F(T, output_width, 24, 4) \
    F(T, evaluation, 28, 4) \
    F(T, per_batch, 32, 4) \
    F(T, source_filter, 36, 4) \
    F(T, channels, 40, 4) \
    F(T, augment_count, 44, 4) \
    F(T, flip_probability, 48, 8) \
    F(T, scale, 56, 8) \
    F(T, mean, 64, 32) \
    F(T, variance, 96, 32) \
    F(T, rotation, 128, 8) \
    F(T, zoom, 136, 8) \
    F(T, augment, 144, 1792)
LAYOUT(svit_pipeline_config, 1936, SVIT_PIPELINE_CONFIG)

#define SVIT_PREDICTOR_CONFIG(F, T) \
    F(T, struct_size, 0, 4) \
    F(T, max_batch, 4, 4) \
    F(T, compute, 8, 4) \
    F(T, output, 12, 4) \
    F(T, context, 16, 8) \
    F(T, tta, 24, 4) \
    F(T, reserved, 28, 4)
LAYOUT(svit_predictor_config, 32, SVIT_PREDICTOR_CONFIG)

#define SVIT_SESSION_CONFIG(F, T) \
    F(T, struct_size, 0, 4) \
    F(T, max_batch, 4, 4) \
    F(T, mode, 8, 4) \
    F(T, compute, 12, 4) \
    F(T, seed, 16, 8) \
    F(T, input_height, 24, 4) \
    F(T, input_width, 28, 4) \
    F(T, memory, 32, 4) \
    F(T, features, 36, 4) \
    F(T, context, 40, 8) \
    F(T, input_layer, 48, 32) \
    F(T, input_gradient, 80, 4) \
    F(T, check_finite, 84, 4)
LAYOUT(svit_session_config, 88, SVIT_SESSION_CONFIG)

#define SVIT_FEATURES_CONFIG(F, T) \
    F(T, struct_size, 0, 4) \
    F(T, batch, 4, 4) \
    F(T, compute, 8, 4) \
    F(T, tokens, 12, 4) \
    F(T, layer, 16, 8) \
    F(T, context, 24, 8)
LAYOUT(svit_features_config, 32, SVIT_FEATURES_CONFIG)

#define SVIT_HEAD_CONFIG(F, T) \
    F(T, struct_size, 0, 4) \
    F(T, epochs, 4, 4) \
    F(T, batch, 8, 4) \
    F(T, balanced, 12, 4) \
    F(T, learning_rate, 16, 8) \
    F(T, weight_decay, 24, 8) \
    F(T, label_smoothing, 32, 8) \
    F(T, seed, 40, 8)
LAYOUT(svit_head_config, 48, SVIT_HEAD_CONFIG)

#define SVIT_CLASS_CONFIG(F, T) \
    F(T, struct_size, 0, 4) \
    F(T, reserved, 4, 4) \
    F(T, weight_decay, 8, 8) \
    F(T, new_weight, 16, 8) \
    F(T, recall, 24, 8)
LAYOUT(svit_class_config, 32, SVIT_CLASS_CONFIG)

#define SVIT_ERROR(F, T) \
    F(T, struct_size, 0, 4) \
    F(T, code, 4, 4) \
    F(T, message, 8, 248)
LAYOUT(svit_error, 256, SVIT_ERROR)

#define SVIT_LOSS_CALL(F, T) \
    F(T, struct_size, 0, 4) \
    F(T, loss, 4, 4) \
    F(T, n, 8, 8) \
    F(T, classes, 16, 8) \
    F(T, logits, 24, 8) \
    F(T, labels, 32, 8) \
    F(T, targets, 40, 8) \
    F(T, dlogits, 48, 8)
LAYOUT(svit_loss_call, 56, SVIT_LOSS_CALL)

#define SVIT_PARTIAL_SUM(F, T) \
    F(T, leaf, 0, 8) \
    F(T, values, 8, 8)
LAYOUT(svit_partial_sum, 16, SVIT_PARTIAL_SUM)

#define SVIT_BUCKET(F, T) \
    F(T, struct_size, 0, 4) \
    F(T, reserved, 4, 4) \
    F(T, number, 8, 8) \
    F(T, elements, 16, 8) \
    F(T, count, 24, 8) \
    F(T, partials, 32, 8) \
    F(T, sum, 40, 8)
LAYOUT(svit_bucket, 48, SVIT_BUCKET)

#define SVIT_REDUCER(F, T) \
    F(T, struct_size, 0, 4) \
    F(T, leaves, 4, 4) \
    F(T, rank, 8, 4) \
    F(T, ranks, 12, 4) \
    F(T, user, 16, 8) \
    F(T, begin, 24, 8) \
    F(T, finish, 32, 8) \
    F(T, gather, 40, 8)
LAYOUT(svit_reducer, 48, SVIT_REDUCER)

#define SVIT_REDUCTION(F, T) \
    F(T, to, 0, 8) \
    F(T, from, 8, 8) \
    F(T, to_rank, 16, 4) \
    F(T, from_rank, 20, 4)
LAYOUT(svit_reduction, 24, SVIT_REDUCTION)

#define SVIT_CUSTOM_DATASET(F, T) \
    F(T, struct_size, 0, 4) \
    F(T, is_f32, 4, 4) \
    F(T, count, 8, 8) \
    F(T, height, 16, 8) \
    F(T, width, 24, 8) \
    F(T, channels, 32, 8) \
    F(T, classes, 40, 8) \
    F(T, class_names, 48, 8) \
    F(T, sample, 56, 8) \
    F(T, label, 64, 8) \
    F(T, targets, 72, 8) \
    F(T, release, 80, 8) \
    F(T, user, 88, 8) \
    F(T, any_thread, 96, 4) \
    F(T, reserved, 100, 4)
LAYOUT(svit_custom_dataset, 104, SVIT_CUSTOM_DATASET)

#define SVIT_TRAINER_CONFIG(F, T) \
    F(T, struct_size, 0, 4) \
    F(T, epochs, 4, 4) \
    F(T, batch, 8, 4) \
    F(T, accumulate, 12, 4) \
    F(T, patience, 16, 4) \
    F(T, keep, 20, 4) \
    F(T, seed, 24, 8) \
    F(T, label_smoothing, 32, 8) \
    F(T, warmup_fraction, 40, 8) \
    F(T, folder, 48, 8) \
    F(T, checkpoint_seconds, 56, 8) \
    F(T, compute, 64, 4) \
    F(T, prefetch, 68, 4) \
    F(T, memory, 72, 4) \
    F(T, existing, 76, 4) \
    F(T, description, 80, 8) \
    F(T, loss, 88, 4) \
    F(T, sampling, 92, 4) \
    F(T, tta, 96, 4) \
    F(T, class_weight_count, 100, 4) \
    F(T, class_weights, 104, 1024) \
    F(T, tensorboard, 1128, 4) \
    F(T, schedule_anew, 1132, 4) \
    F(T, leaves, 1136, 4) \
    F(T, shuffle_window, 1140, 4) \
    F(T, reducer, 1144, 8) \
    F(T, check_finite, 1152, 4) \
    F(T, early_height, 1156, 4) \
    F(T, early_width, 1160, 4) \
    F(T, class_weighting, 1164, 4) \
    F(T, early_fraction, 1168, 8)
LAYOUT(svit_trainer_config, 1176, SVIT_TRAINER_CONFIG)

#define SVIT_TRAINER_EVENT(F, T) \
    F(T, struct_size, 0, 4) \
    F(T, kind, 4, 4) \
    F(T, epoch, 8, 8) \
    F(T, epochs, 16, 8) \
    F(T, step, 24, 8) \
    F(T, steps, 32, 8) \
    F(T, train_loss, 40, 8) \
    F(T, train_top1, 48, 8) \
    F(T, train_top5, 56, 8) \
    F(T, val_loss, 64, 8) \
    F(T, val_top1, 72, 8) \
    F(T, val_top5, 80, 8) \
    F(T, learning_rate, 88, 8) \
    F(T, images_per_second, 96, 8) \
    F(T, seconds, 104, 8) \
    F(T, eta_seconds, 112, 8) \
    F(T, best_epoch, 120, 8) \
    F(T, stopped_early, 128, 4) \
    F(T, reserved, 132, 4) \
    F(T, pflop, 136, 8)
LAYOUT(svit_trainer_event, 144, SVIT_TRAINER_EVENT)

/* clang-format on */

int main(void)
{
    puts("every struct has its layout");
    return 0;
}

#else

int main(void)
{
    puts("skipped: longs or pointers have another size here");
    return 77;
}

#endif
