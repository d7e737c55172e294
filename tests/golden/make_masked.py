"""Golden values of masked autoencoders, by TensorFlow in float64: a plain ViT encoder on the visible patches, a decoder
on all patches, in the operations of He et al. 2021. The masks come from Philox4x32-10, written here anew.
usage: make_masked.py OUTPUT_FOLDER"""
import json
import sys

import numpy as np
import tensorflow as tf
from safetensors.numpy import save_file

BATCH, LABELS = 3, [300, 5, 701]
CONFIGS = {
    "masked_small": dict(input_height=12, input_width=20, patch_size=4, dim=12, depth=2, heads=3, head_dim=5, mlp_dim=14,
                         mask_ratio=0.6, pool="class_token", names="paper", qkv_bias=False, init="paper"),
}


def philox(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        p, q = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [q >> 32 ^ c[1] ^ k[0], q & 0xFFFFFFFF, p >> 32 ^ c[3] ^ k[1], p & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) % 2 ** 32, (k[1] + 0xBB67AE85) % 2 ** 32]
    return c


def words(seed, stream, a, b):
    """The 32-bit random numbers of a stream."""
    block = 0
    while True:
        yield from philox([block, b, a & 0xFFFFFFFF, stream << 24 | a >> 32 & 0xFFFFFF], [seed & 0xFFFFFFFF, seed >> 32])
        block += 1


def visible_of(patches, count, counter, image):
    """Selection sampling: patch p is visible with the probability of those still wanted among those that are left. The
    bounds are so small that no number is drawn again for being biased."""
    numbers, chosen = words(0, 10, counter, image), []
    for p in range(patches):
        product = next(numbers) * (patches - p)
        assert product % 2 ** 32 >= patches - p
        if product >> 32 < count - len(chosen):
            chosen.append(p)
    return chosen


def norm(x, w, name):
    mean, variance = tf.nn.moments(x, -1, keepdims=True)
    return (x - mean) / tf.sqrt(variance + 1e-5) * w[name + ".weight"] + w[name + ".bias"]


def linear(x, w, name):
    y = tf.einsum("...i,oi->...o", x, w[name + ".weight"])
    return y + w[name + ".bias"] if name + ".bias" in w else y


def block(x, w, prefix, heads, width):
    shape = (x.shape[0], x.shape[1], heads, width)
    q, k, v = (tf.reshape(t, shape) for t in tf.split(linear(norm(x, w, prefix + "0.norm"), w, prefix + "0.fn.to_qkv"), 3, -1))
    weights = tf.nn.softmax(tf.einsum("nqhc,nkhc->nhqk", q, k) / width ** 0.5, -1)
    y = tf.reshape(tf.einsum("nhqk,nkhc->nqhc", weights, v), (x.shape[0], x.shape[1], heads * width))
    x = x + linear(y, w, prefix + "0.fn.to_out.0")
    hidden = linear(norm(x, w, prefix + "1.norm"), w, prefix + "1.fn.net.0")
    hidden = hidden * (1 + tf.math.erf(hidden / 2 ** 0.5)) / 2
    return x + linear(hidden, w, prefix + "1.fn.net.3")


def forward(w, images, c, counter):
    n, size = images.shape[0], c["patch_size"]
    rows, columns = c["input_height"] // size, c["input_width"] // size
    patches, width = rows * columns, c["head_dim"]
    x = tf.reshape(images, (n, rows, size, columns, size, 3))
    x = tf.reshape(tf.transpose(x, (0, 1, 3, 2, 4, 5)), (n, patches, size * size * 3))
    x = tf.concat([tf.repeat(w["cls_token"], n, 0), linear(x, w, "to_patch_embedding.1")], 1) + w["pos_embedding"]
    count = patches - int(patches * c["mask_ratio"])
    seen = [visible_of(patches, count, counter, image) for image in range(n)]
    x = tf.stack([tf.gather(x[i], [0] + [1 + p for p in seen[i]]) for i in range(n)])
    for i in range(c["depth"]):
        x = block(x, w, "transformer.layers.%d." % i, c["heads"], width)
    x = linear(norm(x, w, "mlp_head.0"), w, "decoder_embed")
    x = tf.stack([tf.stack([x[i, 1 + seen[i].index(p)] if p in seen[i] else w["mask_token"][0, 0] for p in range(patches)])
                  for i in range(n)]) + w["decoder_pos_embed"]
    for i in range(2):
        x = block(x, w, "decoder_blocks.%d." % i, (c["heads"] + 1) // 2, width)
    x = linear(norm(x, w, "decoder_norm"), w, "decoder_pred")
    masked = np.array([[[p not in seen[i]] for p in range(patches)] for i in range(n)], np.float64)
    return tf.reshape(x * masked, (n, -1))


def shapes(c):
    patches = c["input_height"] * c["input_width"] // c["patch_size"] ** 2
    elements, dim, wide = 3 * c["patch_size"] ** 2, c["dim"], c["heads"] * c["head_dim"]
    narrow = (c["heads"] + 1) // 2 * c["head_dim"]

    def vectors(prefix, dim, wide, hidden):
        return {prefix + "0.norm.weight": (dim,), prefix + "0.norm.bias": (dim,),
                prefix + "0.fn.to_qkv.weight": (3 * wide, dim), prefix + "0.fn.to_out.0.weight": (dim, wide),
                prefix + "0.fn.to_out.0.bias": (dim,), prefix + "1.norm.weight": (dim,), prefix + "1.norm.bias": (dim,),
                prefix + "1.fn.net.0.weight": (hidden, dim), prefix + "1.fn.net.0.bias": (hidden,),
                prefix + "1.fn.net.3.weight": (dim, hidden), prefix + "1.fn.net.3.bias": (dim,)}

    out = {"pos_embedding": (1, 1 + patches, dim), "cls_token": (1, 1, dim),
           "to_patch_embedding.1.weight": (dim, elements), "to_patch_embedding.1.bias": (dim,)}
    for i in range(c["depth"]):
        out.update(vectors("transformer.layers.%d." % i, dim, wide, c["mlp_dim"]))
    out.update({"mlp_head.0.weight": (dim,), "mlp_head.0.bias": (dim,), "decoder_embed.weight": (narrow, dim),
                "decoder_embed.bias": (narrow,), "mask_token": (1, 1, narrow), "decoder_pos_embed": (1, patches, narrow)})
    for i in range(2):
        out.update(vectors("decoder_blocks.%d." % i, narrow, narrow, 4 * narrow))
    out.update({"decoder_norm.weight": (narrow,), "decoder_norm.bias": (narrow,),
                "decoder_pred.weight": (elements, narrow), "decoder_pred.bias": (elements,)})
    return out


def adamw(w, slots, gradients, step, rate=1e-3, decay=1e-4, b1=0.9, b2=0.999, eps=1e-7):
    """Keras' form: the decay first, eps beside the root of the uncorrected second moment."""
    for name, g in gradients.items():
        m, v = slots[name]
        m[:] = b1 * m + (1 - b1) * g
        v[:] = b2 * v + (1 - b2) * g * g
        w[name] = w[name] * (1 - rate * decay) - rate * (1 - b2 ** step) ** 0.5 / (1 - b1 ** step) * m / (np.sqrt(v) + eps)


def gradients_of(w, x, c, counter):
    variables = {k: tf.constant(v) for k, v in w.items()}
    with tf.GradientTape() as tape:
        tape.watch(variables)
        logits = forward(variables, x, c, counter)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(LABELS, logits))
    return logits.numpy(), loss.numpy(), {k: tf.convert_to_tensor(v).numpy() for k, v in tape.gradient(loss, variables).items()}


def make(name, c):
    random = np.random.default_rng(7)
    start = {k: (random.uniform(-0.3, 0.3, s) + ("norm.weight" in k or k == "mlp_head.0.weight")).astype(np.float32)
             for k, s in shapes(c).items()}
    x = random.uniform(0, 1, (BATCH, c["input_height"], c["input_width"], 3)).astype(np.float32)
    w = {k: v.astype(np.float64) for k, v in start.items()}
    out = {"input": x, "labels": np.array(LABELS, np.int32), **{"param." + k: v for k, v in start.items()}}
    slots = {k: (np.zeros_like(v), np.zeros_like(v)) for k, v in w.items()}
    logits, loss, gradients = gradients_of(w, x.astype(np.float64), c, 0)
    out.update({"logits": logits, "loss": np.array([loss]), **{"grad." + k: v for k, v in gradients.items()}})
    losses = []
    for step in range(4):  # the forwards after the first one have the counters from 1 on
        _, loss, gradients = gradients_of(w, x.astype(np.float64), c, 1 + step)
        losses.append(loss)
        if step < 3:
            adamw(w, slots, gradients, step + 1)
    out["step.losses"] = np.array(losses)
    out.update({"step3.param." + k: v for k, v in w.items()})
    out = {k: np.ascontiguousarray(v if v.dtype == np.int32 else v.astype(np.float32)) for k, v in out.items()}
    config = dict(architecture="vit", classifier=False, head_units=[], mlp_last_gelu=False, norm_eps=1e-5, dropout=0,
                  attention_dropout=0, head_dropout=0, drop_path=0, patch_bias=True, final_norm=True, **c)
    save_file(out, "%s/%s.safetensors" % (sys.argv[1], name), {"config": json.dumps(config), "param_names": json.dumps(list(w))})


tf.config.threading.set_intra_op_parallelism_threads(1)
for name, c in CONFIGS.items():
    make(name, c)
