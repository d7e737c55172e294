/* shiftvit in JavaScript: the C library as WebAssembly, in Node, in a page or in a worker. The types
 * are in shiftvit.d.ts, the documentation in docs/browser.md. Models come from memory and go there;
 * there are no files. */

/* In the order of STRUCT_BYTES in module.c. */
const STRUCTS = ['error', 'model', 'pipeline', 'session', 'optimizer', 'head', 'class', 'context'];
const MODE_INFER = 0, MODE_TRAIN = 1;
const OUTPUT_SIGMOID = 2, OUTPUT_LOGITS = 3;
const UNSUPPORTED = -8;
const ENCODER_BATCH = 16; /* images in one forward pass */

/* A call of the library that failed: its message, and the name of its status. */
export class ShiftvitError extends Error {
  constructor(message, status) {
    super(message);
    this.name = 'ShiftvitError';
    this.status = status;
  }
}

/* The functions that WebAssembly calls outside. The clock is one; what would use files, which the
 * library never does here, fails as an unknown system call does. */
function importsOf(module, memory) {
  const NO_SUCH_CALL = 52; /* of WASI; system calls of Emscripten return it below 0 */
  const known = {
    clock_time_get(clock, precision, out) {
      new DataView(memory().buffer).setBigUint64(out, BigInt(Math.round(performance.now() * 1e6)), true);
      return 0;
    },
    emscripten_notify_memory_growth() {},
    proc_exit(code) {
      throw new ShiftvitError(`the library ended with code ${code}`, 'SVIT_E_STATE');
    },
  };
  const imports = {};
  for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    imports[from] ??= {};
    imports[from][name] = known[name] ?? (() => (name.startsWith('__syscall') ? -NO_SUCH_CALL : NO_SUCH_CALL));
  }
  return imports;
}

async function bytesAt(url) {
  if (url.protocol === 'file:' && typeof process === 'object') {
    const { readFile } = await import('node:fs/promises');
    return readFile(url);
  }
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status} ${response.statusText}`);
  return response.arrayBuffer();
}

/* Loads the library. `source` is the bytes of shiftvit.wasm, a compiled module, or its address; by
 * default it lies beside this file. */
export async function load(source = new URL('shiftvit.wasm', import.meta.url)) {
  if (typeof source === 'string') source = new URL(source, import.meta.url);
  if (source instanceof URL) source = await bytesAt(source);
  const module = source instanceof WebAssembly.Module ? source : await WebAssembly.compile(source);
  let instance = null;
  instance = await WebAssembly.instantiate(module, importsOf(module, () => instance.exports.memory));
  instance.exports._initialize?.();
  return new Shiftvit(instance.exports);
}

/* Memory of WebAssembly, and calls with errors. Views are made for each access, because memory that
 * grows leaves old ones empty. */
class Memory {
  constructor(exports) {
    this.exports = exports;
    this.sizes = Object.fromEntries(STRUCTS.map((name, i) => [name, exports.module_struct_bytes(i)]));
    this.error = this.allocate(this.sizes.error);
    this.out = this.allocate(8);
  }

  get u8() { return new Uint8Array(this.exports.memory.buffer); }
  get i32() { return new Int32Array(this.exports.memory.buffer); }
  get u32() { return new Uint32Array(this.exports.memory.buffer); }
  get f32() { return new Float32Array(this.exports.memory.buffer); }

  allocate(bytes) {
    const at = this.exports.malloc(Math.max(bytes, 1));
    if (at === 0) throw new ShiftvitError(`${bytes} bytes of memory could not be allocated`, 'SVIT_E_MEMORY');
    return at;
  }

  /* Calls `use` with the address of so many bytes, which are free again afterwards. */
  borrow(bytes, use) {
    const at = this.allocate(bytes);
    try {
      return use(at);
    } finally {
      this.exports.free(at);
    }
  }

  text(at) {
    if (at === 0) return null;
    const bytes = this.u8;
    let end = at;
    while (bytes[end] !== 0) end++;
    return new TextDecoder().decode(bytes.subarray(at, end));
  }

  borrowBytes(data, use) {
    return this.borrow(data.length, (at) => {
      this.u8.set(data, at);
      return use(at);
    });
  }

  borrowText(text, use) {
    if (text.includes('\0')) throw new TypeError('a text has a NUL character');
    return this.borrowBytes(new TextEncoder().encode(`${text}\0`), use);
  }

  borrowFloats(values, use) {
    return this.borrow(4 * values.length, (at) => {
      this.f32.set(values, at / 4);
      return use(at);
    });
  }

  /* An array of texts, as the library takes names. */
  borrowTexts(texts, use) {
    const encoded = texts.map((text) => {
      if (typeof text !== 'string' || text.includes('\0')) throw new TypeError('a name is no text, or has a NUL character');
      return new TextEncoder().encode(`${text}\0`);
    });
    const bytes = encoded.reduce((sum, text) => sum + text.length, 0);
    return this.borrow(4 * texts.length + bytes, (at) => {
      let next = at + 4 * texts.length;
      encoded.forEach((text, i) => {
        this.u32[at / 4 + i] = next;
        this.u8.set(text, next);
        next += text.length;
      });
      return use(at);
    });
  }

  /* Calls a function whose last argument is the error record; throws what it says. */
  call(name, ...values) {
    this.u32[this.error / 4] = this.sizes.error;
    const status = this.exports[name](...values, this.error);
    if (status !== 0) throw new ShiftvitError(this.text(this.error + 8), this.text(this.exports.svit_status_name(status)));
  }

  /* Calls a function that writes a handle or a size to its first argument, and returns that. */
  create(name, ...values) {
    this.call(name, this.out, ...values);
    return this.u32[this.out / 4];
  }

  /* Calls a function that writes a text or bytes of unknown length: (..., buffer, capacity, needed). */
  written(name, ...values) {
    try {
      this.call(name, ...values, 0, 0, this.out);
    } catch (error) {
      if (error.status !== 'SVIT_E_ARGUMENT') throw error;
    }
    const needed = this.u32[this.out / 4];
    return this.borrow(needed, (at) => {
      this.call(name, ...values, at, needed, 0);
      return this.u8.slice(at, at + needed);
    });
  }

  json(name, ...values) {
    return JSON.parse(new TextDecoder().decode(this.written(name, ...values).subarray(0, -1)));
  }

  /* Calls `use` with a configuration struct that is read from an object. */
  borrowConfig(type, fields, use) {
    return this.borrow(this.sizes[type], (at) =>
      this.borrowText(JSON.stringify(fields), (text) => {
        this.call(`svit_${type}_config_from_json`, at, this.sizes[type], text);
        return use(at);
      }));
  }
}

/* The library, as `load` returns it. */
export class Shiftvit {
  #memory;
  #context;

  constructor(exports) {
    this.#memory = new Memory(exports);
    const { sizes } = this.#memory;
    this.#context = this.#memory.borrow(sizes.context, (config) => {
      exports.svit_context_config_init(config, sizes.context);
      this.#memory.u32[config / 4 + 1] = 1; /* threads */
      return this.#memory.create('svit_context_create', config);
    });
  }

  get version() { return this.#memory.text(this.#memory.exports.svit_version_string()); }

  /* Bytes of memory that the library has taken from the system. They never become fewer. */
  get memoryBytes() { return this.#memory.u8.length; }

  /* What svit_context_describe says of the build. */
  describe() { return this.#memory.json('svit_context_describe', this.#context); }

  /* Reads the bytes of a model file. */
  model(bytes) {
    const data = bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes);
    const handle = this.#memory.borrowBytes(data, (at) =>
      this.#memory.create('svit_model_load_memory', this.#context, at, data.length));
    return new Model(this.#memory, this.#context, handle);
  }
}

/* The elements of `order` in random order, by a seed (mulberry32; Durstenfeld's shuffle). */
function shuffle(order, seed) {
  let state = seed >>> 0;
  for (let left = order.length; left > 1; left--) {
    state = (state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    const chosen = ((bits ^ (bits >>> 14)) >>> 0) % left;
    [order[left - 1], order[chosen]] = [order[chosen], order[left - 1]];
  }
}

/* The index of the largest of values[first, first + count), of equal ones the first. */
function largest(values, first, count) {
  let best = 0;
  for (let k = 1; k < count; k++) if (values[first + k] > values[first + best]) best = k;
  return best;
}

/* Throws unless samples are of rows of `channels` values with labels below `classes`. */
function checkSamples(samples, channels, classes, what) {
  const { values, labels } = samples;
  if (values.length === 0 || values.length !== labels.length * channels)
    throw new RangeError(`${what} have ${values.length} values and ${labels.length} labels; a sample has ${channels} values`);
  for (const label of labels)
    if (!Number.isInteger(label) || label < 0 || label >= classes)
      throw new RangeError(`${what} have the label ${label}; the model has ${classes} classes`);
}

/* A session on the features of a layer, whose layers behind it learn. */
class Training {
  constructor(memory, model, layer, batch, classes) {
    this.memory = memory;
    this.classes = classes;
    this.batch = batch;
    this.session = memory.borrowConfig('session', { mode: 'train', max_batch: batch, input_layer: layer },
      (config) => memory.create('svit_session_create', model, config));
    this.channels = memory.exports.svit_session_input_size(this.session);
    this.optimizer = 0;
    this.rows = memory.allocate(4 * batch * this.channels);
    this.logits = memory.allocate(4 * batch * classes);
    this.dlogits = memory.allocate(4 * batch * classes);
    this.labels = memory.allocate(4 * batch);
    this.weights = 0; /* of classes; none: 1 for each */
  }

  /* Lets each class count as much as any other in the loss. */
  balance(labels) {
    const { memory, classes } = this, counts = new Float32Array(classes);
    for (const label of labels) counts[label]++;
    this.weights = memory.allocate(4 * classes);
    memory.f32.set(counts.map((count) => (count > 0 ? labels.length / (classes * count) : 0)), this.weights / 4);
  }

  start(model, options) {
    this.optimizer = this.memory.borrowConfig('optimizer', options,
      (config) => this.memory.create('svit_optimizer_create', model, config));
  }

  /* Copies the samples order[first..first + n) and returns how many of them the logits classify rightly. */
  forward(samples, order, first, n) {
    const { memory, channels, classes } = this;
    for (let i = 0; i < n; i++) {
      const at = order[first + i] * channels;
      memory.f32.set(samples.values.subarray(at, at + channels), this.rows / 4 + i * channels);
      memory.i32[this.labels / 4 + i] = samples.labels[order[first + i]];
    }
    memory.call('svit_forward', this.session, this.rows, n, this.logits);
    let correct = 0;
    for (let i = 0; i < n; i++)
      correct += largest(memory.f32, this.logits / 4 + i * classes, classes) === samples.labels[order[first + i]];
    return correct;
  }

  /* One update. Returns the loss of the batch. */
  update(n) {
    const { memory } = this;
    memory.call('svit_cross_entropy_weighted', this.logits, this.labels, this.weights, n, this.classes, 0,
      memory.out, this.dlogits);
    const loss = memory.f32[memory.out / 4];
    memory.call('svit_backward', this.session, this.dlogits, n);
    memory.call('svit_step', this.optimizer, this.session);
    return loss;
  }

  /* The accuracy on samples that do not train. */
  accuracy(samples, order) {
    const { memory, session } = this;
    let correct = 0;
    memory.call('svit_session_set_mode', session, MODE_INFER);
    for (let first = 0; first < order.length; first += this.batch)
      correct += this.forward(samples, order, first, Math.min(this.batch, order.length - first));
    memory.call('svit_session_set_mode', session, MODE_TRAIN);
    return correct / order.length;
  }

  free() {
    const { exports } = this.memory;
    for (const at of [this.rows, this.logits, this.dlogits, this.labels, this.weights]) exports.free(at);
    exports.svit_optimizer_free(this.optimizer);
    exports.svit_session_free(this.session);
  }
}

/* A model: Shiftvit.model creates it, and `free` frees it. */
export class Model {
  #memory;
  #context;
  #handle;
  #encoder = 0; /* a session, created when it is first needed and freed before the model changes */

  constructor(memory, context, handle) {
    this.#memory = memory;
    this.#context = context;
    this.#handle = handle;
  }

  get #model() {
    if (this.#handle === 0) throw new Error('the model has been freed');
    return this.#handle;
  }

  free() {
    this.#release();
    this.#memory.exports.svit_model_free(this.#handle);
    this.#handle = 0;
  }

  #release() {
    this.#memory.exports.svit_session_free(this.#encoder);
    this.#encoder = 0;
  }

  #read(type) {
    const { sizes } = this.#memory;
    return this.#memory.borrow(sizes[type], (config) => {
      this.#memory.call(`svit_model_get_${type === 'model' ? 'config' : type}`, this.#model, config, sizes[type]);
      return this.#memory.json(`svit_${type}_config_to_json`, config);
    });
  }

  /* The configuration, and the preprocessing of images, with the keys of the JSON in model files. */
  get config() { return this.#read('model'); }
  get preprocessing() { return this.#read('pipeline'); }

  /* The names of the classes; numbers where the model has no names. */
  get classes() {
    const { exports } = this.#memory;
    return Array.from({ length: this.config.num_classes },
      (none, label) => this.#memory.text(exports.svit_model_class_name(this.#model, label)) ?? String(label));
  }

  /* Calls `use` with the address of the model's pipeline. */
  #borrowPipeline(use) {
    const memory = this.#memory, { pipeline: bytes } = memory.sizes;
    return memory.borrow(bytes, (at) => {
      memory.call('svit_model_get_pipeline', this.#model, at, bytes);
      return use(at);
    });
  }

  /* The height and width of images as the preprocessing leaves them. */
  #inputSize() {
    const memory = this.#memory, { out } = memory;
    return this.#borrowPipeline((pipeline) => {
      memory.call('svit_pipeline_evaluation_size', pipeline, out, out + 4);
      return [memory.u32[out / 4], memory.u32[out / 4 + 1]];
    });
  }

  #session() {
    if (this.#encoder === 0) {
      const [input_height, input_width] = this.#inputSize();
      const fields = { max_batch: ENCODER_BATCH, features: true, input_height, input_width };
      this.#encoder = this.#memory.borrowConfig('session', fields,
        (config) => this.#memory.create('svit_session_create', this.#model, config));
    }
    return this.#encoder;
  }

  /* The names of the layers whose output `features` computes. */
  get layers() {
    const session = this.#session(), names = [];
    for (let name; (name = this.#memory.text(this.#memory.exports.svit_session_layer_name(session, names.length))) !== null;)
      names.push(name);
    return names;
  }

  #layerShape(layer) {
    const session = this.#session(), { out } = this.#memory;
    this.#memory.borrowText(layer, (name) => this.#memory.call('svit_session_layer_shape', session, name, out, out + 4));
    return [this.#memory.u32[out / 4], this.#memory.u32[out / 4 + 1]];
  }

  /* Writes the input that the preprocessing makes of an image to the address `out`. */
  #prepare(image, channels, pipeline, out) {
    const { data, width, height } = image, memory = this.#memory;
    const has = data.length / (width * height);
    if (has !== channels && has !== 4)
      throw new RangeError(`an image of ${width} x ${height} pixels has ${data.length} bytes; ` +
        `it needs 4 for each pixel (RGBA), or the model's ${channels}`);
    memory.borrowBytes(data, (pixels) => {
      if (has !== channels) memory.exports.module_convert_rgba(pixels, width * height, channels);
      memory.call('svit_pipeline_apply_evaluation', this.#context, pipeline, pixels, 1, height, width, out);
    });
  }

  /* Calls use(input, first, n) with the inputs of `images`, a batch at a time. */
  #batches(images, use) {
    const memory = this.#memory, session = this.#session(), { channels } = this.preprocessing;
    const size = memory.exports.svit_session_input_size(session);
    this.#borrowPipeline((pipeline) => {
      memory.borrow(4 * size * Math.min(images.length, ENCODER_BATCH), (input) => {
        for (let first = 0; first < images.length; first += ENCODER_BATCH) {
          const n = Math.min(ENCODER_BATCH, images.length - first);
          for (let i = 0; i < n; i++) this.#prepare(images[first + i], channels, pipeline, input + 4 * i * size);
          use(session, input, first, n);
        }
      });
    });
  }

  /* The logits of images: Float32Array [images, classes]. */
  logits(images) {
    const { num_classes: classes } = this.config, memory = this.#memory;
    const result = new Float32Array(images.length * classes);
    this.#batches(images, (session, input, first, n) =>
      memory.borrow(4 * n * classes, (out) => {
        memory.call('svit_forward', session, input, n, out);
        result.set(memory.f32.subarray(out / 4, out / 4 + n * classes), first * classes);
      }));
    return result;
  }

  /* What the model makes of logits: probabilities, or with a model of numbers the logits. */
  #probabilities(logits, n) {
    const memory = this.#memory, output = memory.exports.svit_model_output(this.#model);
    if (output === OUTPUT_LOGITS) return logits;
    return memory.borrowFloats(logits, (at) => {
      memory.call(output === OUTPUT_SIGMOID ? 'svit_sigmoid' : 'svit_softmax', at, n, logits.length / n, at);
      return memory.f32.slice(at / 4, at / 4 + logits.length);
    });
  }

  /* The classes of an image with their confidences, the surest first. */
  predict(image) {
    const confidences = this.#probabilities(this.logits([image]), 1);
    return this.classes
      .map((name, label) => ({ label, name, confidence: confidences[label] }))
      .sort((a, b) => b.confidence - a.confidence || a.label - b.label);
  }

  /* What a layer computes for images: { values: Float32Array [images, channels], channels }. */
  features(images, layer = 'features') {
    const [tokens, width] = this.#layerShape(layer), channels = tokens * width, memory = this.#memory;
    const values = new Float32Array(images.length * channels);
    memory.borrowText(layer, (name) =>
      this.#batches(images, (session, input, first, n) =>
        memory.borrow(4 * n * channels, (out) => {
          memory.call('svit_forward_features', session, input, n, name, out, n * channels);
          values.set(memory.f32.subarray(out / 4, out / 4 + n * channels), first * channels);
        })));
    return { values, channels };
  }

  /* A copy of a parameter. */
  parameter(name) {
    const memory = this.#memory, model = this.#model;
    return memory.borrow(72, (shape) => memory.borrowText(name, (text) => {
      memory.call('svit_model_parameter_shape', model, text, shape, shape + 64);
      const rank = memory.u32[shape / 4 + 16];
      const sizes = Array.from({ length: rank }, (none, axis) => memory.u32[shape / 4 + 2 * axis]);
      const elements = sizes.reduce((product, size) => product * size, 1);
      return memory.borrow(4 * elements, (out) => {
        memory.call('svit_model_get_parameter', model, text, out, elements);
        return { shape: sizes, values: memory.f32.slice(out / 4, out / 4 + elements) };
      });
    }));
  }

  /* Where in an image the model sees the class `label`: { kind, width, height, values }, row by row.
   * A ViT gives the attention of its last layer, "attention", which is the same for every class. A
   * model that averages its tokens before a linear classifier gives "evidence": how much each token
   * adds to the logit of the class, less the mean of what it adds to all. null: neither is so. */
  map(image, label) {
    return this.#attention(image) ?? this.#evidence(image, label);
  }

  #grid(tokens) {
    const [imageHeight, imageWidth] = this.#inputSize();
    const height = Math.round(Math.sqrt(tokens * imageHeight / imageWidth)) || 1;
    return height * Math.floor(tokens / height) === tokens ? [height, tokens / height] : null;
  }

  #attention(image) {
    const memory = this.#memory, session = this.#session(), { config } = this;
    memory.u32[memory.error / 4] = memory.sizes.error;
    const status = memory.exports.svit_session_attention_size(session, memory.out, memory.out + 4, memory.error);
    if (status === UNSUPPORTED) return null;
    const heads = memory.u32[memory.out / 4], tokens = memory.u32[memory.out / 4 + 1];
    const [height, width] = this.#inputSize().map((pixels) => Math.floor(pixels / config.patch_size));
    const before = tokens - height * width; /* class, distillation and register tokens */
    if (before < 0) return null;
    const values = new Float32Array(height * width), elements = heads * tokens * tokens;
    this.#batches([image], (used, input) =>
      memory.borrow(4 * config.num_classes, (logits) => memory.borrow(4 * elements, (out) => {
        memory.call('svit_forward_attention', used, input, 1, logits, out, elements);
        const weights = memory.f32.subarray(out / 4, out / 4 + elements);
        const rows = config.pool === 'class_token' ? 1 : tokens; /* the class token alone, or every token */
        for (let head = 0; head < heads; head++)
          for (let row = 0; row < rows; row++)
            for (let i = 0; i < values.length; i++)
              values[i] += weights[(head * tokens + row) * tokens + before + i] / (heads * rows);
      })));
    return { kind: 'attention', width, height, values };
  }

  #evidence(image, label) {
    const { config, layers } = this, last = layers[layers.length - 2];
    if (config.architecture !== 'shiftvit' || config.final_norm || !config.classifier) return null;
    const { values: tokens, channels: all } = this.features([image], last);
    const { values: weight, shape: [classes, channels] } = this.parameter('head.weight');
    const bias = this.parameter('head.bias').values, count = all / channels, grid = this.#grid(count);
    if (grid === null) return null;
    const direction = new Float32Array(channels);
    let offset = bias[label];
    for (let k = 0; k < classes; k++) {
      offset -= bias[k] / classes;
      for (let c = 0; c < channels; c++)
        direction[c] += (k === label ? weight[k * channels + c] : 0) - weight[k * channels + c] / classes;
    }
    const values = new Float32Array(count).fill(offset);
    for (let t = 0; t < count; t++)
      for (let c = 0; c < channels; c++) values[t] += direction[c] * tokens[t * channels + c];
    return { kind: 'evidence', height: grid[0], width: grid[1], values };
  }

  /* Gives the model a new classifier of the classes `names`, with random weights of `seed`. */
  replaceHead(names, seed = 0) {
    const memory = this.#memory, model = this.#model;
    this.#release();
    memory.borrowTexts(names, (texts) => {
      memory.call('svit_model_replace_head', model, names.length, BigInt(seed));
      memory.call('svit_model_set_classes', model, texts, names.length);
    });
  }

  /* Calls `use` with a feature set of `values`, which have `labels` or none. */
  #borrowFeatures({ values, labels = null }, channels, classes, use) {
    const memory = this.#memory, count = values.length / channels;
    const set = memory.borrowFloats(values, (rows) => memory.borrow(4 * count, (at) => {
      if (labels) memory.i32.set(labels, at / 4);
      return memory.create('svit_features_create', this.#context, rows, labels ? at : 0, count, channels, classes, 0);
    }));
    try {
      return use(set);
    } finally {
      memory.exports.svit_features_free(set);
    }
  }

  /* Trains the classifier on features with labels, in one call: svit_model_fit_head. `config` has
   * the fields of svit_head_config. */
  fitHead(samples, config = {}) {
    const memory = this.#memory, model = this.#model, { num_classes: classes } = this.config;
    const [, channels] = this.#layerShape('features');
    checkSamples(samples, channels, classes, 'samples');
    this.#release();
    this.#borrowFeatures(samples, channels, classes, (set) =>
      memory.borrowConfig('head', config, (at) => memory.call('svit_model_fit_head', model, set, at)));
  }

  /* Adds the class `name`, whose row is fitted to features of it: svit_model_fit_class. `old` are
   * features of the old classes, or null. `config` has the fields of svit_class_config. */
  addClass(name, values, old = null, config = {}) {
    const memory = this.#memory, model = this.#model, [, channels] = this.#layerShape('features');
    for (const features of [values, old ?? values])
      if (features.length === 0 || features.length % channels !== 0)
        throw new RangeError(`${features.length} values are no features; each has ${channels}`);
    this.#release();
    const fit = (set, others) => memory.borrowText(name, (text) => memory.borrowConfig('class', config, (at) =>
      memory.call('svit_model_fit_class', model, text, set, others, at)));
    this.#borrowFeatures({ values }, channels, 0, (set) =>
      old ? this.#borrowFeatures({ values: old }, channels, 0, (others) => fit(set, others)) : fit(set, 0));
  }

  /* Trains what lies behind a layer on its features, an epoch at a time: a generator, which yields
   * { epoch, epochs, loss, accuracy, validation } after each. Leaving its loop ends the training; the
   * model keeps what it has learnt. Without a `layer` the classifier alone learns, in the way of
   * svit_model_fit_head. */
  *train(samples, options = {}) {
    const { layer = 'features', epochs = 100, batch = 256, learningRate = 0.003, seed = 0,
      trainable = ['head*'], balanced = false, validation = null } = options;
    const count = samples.labels.length, { weightDecay = Math.min(10, 5000 / count) } = options;
    const memory = this.#memory, model = this.#model, { num_classes: classes } = this.config;
    const setTrainable = (pattern, on) =>
      memory.borrowText(pattern, (text) => memory.call('svit_model_set_trainable', model, text, on));
    this.#release();
    let training = null;
    try {
      setTrainable('*', 0);
      for (const pattern of trainable) setTrainable(pattern, 1);
      training = new Training(memory, model, layer, Math.min(batch, count), classes);
      checkSamples(samples, training.channels, classes, 'samples');
      if (validation) checkSamples(validation, training.channels, classes, 'samples of the validation');
      if (balanced) training.balance(samples.labels);
      training.start(model, { learning_rate: learningRate, weight_decay: weightDecay, decay_exclude: ['bias'],
        schedule: 'warmup-cosine', total_steps: epochs * Math.ceil(count / training.batch) });
      const order = Array.from({ length: count }, (none, i) => i);
      const checked = validation ? Array.from(validation.labels, (none, i) => i) : [];
      for (let epoch = 1; epoch <= epochs; epoch++) {
        let correct = 0, loss = 0;
        shuffle(order, seed * 1000003 + epoch);
        for (let first = 0; first < count; first += training.batch) {
          const n = Math.min(training.batch, count - first);
          correct += training.forward(samples, order, first, n);
          loss += training.update(n) * n;
        }
        yield { epoch, epochs, loss: loss / count, accuracy: correct / count,
          validation: checked.length ? training.accuracy(validation, checked) : null };
      }
    } finally {
      training?.free();
      setTrainable('*', 1);
    }
  }

  /* The bytes of a model file, which the programs and the library's other languages read. */
  save() { return this.#memory.written('svit_model_save_memory', this.#model); }
}
