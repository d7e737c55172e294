/* shiftvit in JavaScript: the C library as WebAssembly, in Node, in a page or in a worker. The types
 * are in shiftvit.d.ts, the documentation in docs/browser.md. Models come from memory and go there;
 * there are no files. */
import { importsOf, Memory } from './memory.js';
import { endWorkers, isNode, nodeModule, sharedMemory, startWorkers, threadsFor } from './threads.js';
import { checkOptions, checkSamples, checkValues, checkWhole, countSamples, shuffle, Training } from './training.js';

export { ShiftvitError } from './memory.js';

const OUTPUTS = [null, 'softmax', 'sigmoid', 'logits']; /* by SVIT_OUTPUT_*; no model has the first */
const UNSUPPORTED = -8;
const ENCODER_BATCH = 16; /* images in one forward pass */

async function bytesAt(url) {
  if (url.protocol === 'file:' && isNode) {
    const { readFile } = await nodeModule('fs/promises');
    return readFile(url);
  }
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status} ${response.statusText}`);
  return response.arrayBuffer();
}

/* Loads the library. `source` is the bytes of shiftvit.wasm or shiftvit-threads.wasm, a compiled module, or its address;
 * by default they lie beside this file. `threads` compute, 0 for one on each core: in Node, and in workers of a page that is
 * isolated from other origins. Elsewhere, and with shiftvit.wasm, there is one. */
export async function load(source = null, { threads: wanted = 1 } = {}) {
  let threads = await threadsFor(wanted);
  source ??= threads > 1 /* in a form of which bundlers know that there is a file */
    ? new URL('./shiftvit-threads.wasm', import.meta.url) : new URL('./shiftvit.wasm', import.meta.url);
  if (typeof source === 'string') source = new URL(source, import.meta.url);
  if (source instanceof URL) source = await bytesAt(source);
  const module = source instanceof WebAssembly.Module ? source : await WebAssembly.compile(source);
  const shared = WebAssembly.Module.imports(module).some(({ kind }) => kind === 'memory') ? sharedMemory() : null;
  let instance = null;
  const memory = () => shared ?? instance.exports.memory;
  instance = await WebAssembly.instantiate(module, importsOf(module, shared, memory));
  instance.exports._initialize?.();
  if (!shared) threads = 1;
  const workers = await startWorkers(module, shared, instance.exports, threads - 1);
  return new Shiftvit(new Memory(instance.exports, memory()), workers);
}

/* The library, as `load` returns it. */
export class Shiftvit {
  #memory;
  #context;
  #workers;

  constructor(memory, workers) {
    const { sizes, exports } = memory;
    this.#memory = memory;
    this.#workers = workers;
    this.#context = memory.borrow(sizes.context, (config) => {
      exports.svit_context_config_init(config, sizes.context);
      memory.u32[config / 4 + 1] = 1; /* threads */
      if (workers.length) exports.module_use_workers(config, workers.length);
      return memory.create('svit_context_create', config);
    });
  }

  /* How many threads compute. */
  get threads() { return 1 + this.#workers.length; }

  /* Ends all threads but this one. Models can be used afterwards, more slowly. */
  endThreads() {
    const memory = this.#memory;
    if (this.#workers.length)
      memory.borrow(memory.sizes.context, (config) => memory.exports.module_use_workers(config, 0));
    endWorkers(this.#workers, memory.exports);
    this.#workers = [];
  }

  get version() { return this.#memory.text(this.#memory.exports.svit_version_string()); }

  /* Bytes of memory that the library has taken from the system. They never become fewer. */
  get memoryBytes() { return this.#memory.u8.length; }

  /* Bytes of it that are in use: models that are not freed, and their working memory. */
  get usedBytes() { return this.#memory.exports.module_used_bytes(); }

  /* What svit_context_describe says of the build. */
  describe() { return { ...this.#memory.json('svit_context_describe', this.#context), threads: this.threads }; }

  /* Reads the bytes of a model file. */
  model(bytes) {
    const view = ArrayBuffer.isView(bytes);
    if (!view && bytes?.[Symbol.toStringTag] !== 'ArrayBuffer')
      throw new TypeError('the bytes of a model are no ArrayBuffer and no array of bytes over one');
    const data = view ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength) : new Uint8Array(bytes);
    const handle = this.#memory.borrowBytes(data, (at) =>
      this.#memory.create('svit_model_load_memory', this.#context, at, data.length));
    return new Model(this.#memory, this.#context, handle);
  }
}

function checkImages(images) {
  if (!Array.isArray(images)) throw new TypeError('the images are no array; an array of { data, width, height } is needed');
}

/* A model: Shiftvit.model creates it, and `free` frees it. */
export class Model {
  #memory;
  #context;
  #handle;
  #trainings = new Set(); /* those whose loops have not ended */
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
    for (const training of this.#trainings) training.free();
    this.#trainings.clear();
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

  /* The preprocessing writes as many channels as it has, whatever the session's input has room for. */
  #checkChannels() {
    const { in_channels: read } = this.config, { channels } = this.preprocessing;
    if (channels !== read)
      throw new Error(`the preprocessing has ${channels} channels, and the model reads images of ${read}`);
  }

  #session() {
    if (this.#encoder === 0) {
      this.#checkChannels();
      const [input_height, input_width] = this.#inputSize();
      const fields = { max_batch: ENCODER_BATCH, features: true, input_height, input_width };
      this.#encoder = this.#memory.borrowConfig('session', fields,
        (config) => this.#memory.create('svit_session_create', this.#model, config));
    }
    return this.#encoder;
  }

  /* All that a function of the library names, by an index from 0 on. */
  #names(called, handle) {
    const memory = this.#memory, names = [];
    for (;;) {
      const name = memory.text(memory.exports[called](handle, names.length));
      if (name === null) return names;
      names.push(name);
    }
  }

  /* The names of the layers whose output `features` computes. */
  get layers() { return this.#names('svit_session_layer_name', this.#session()); }

  /* The names of the parameters, in the order of the file. */
  get parameters() { return this.#names('svit_model_parameter_name', this.#model); }

  /* What `predict` makes of the logits: 'softmax', 'sigmoid' or, for a model of numbers, 'logits' as they are. */
  get output() { return OUTPUTS[this.#memory.exports.svit_model_output(this.#model)]; }

  /* The probability below which an image is of none of the classes; 0: there is none. */
  get threshold() { return this.#memory.exports.svit_model_threshold(this.#model); }

  #layerShape(layer) {
    const session = this.#session(), { out } = this.#memory;
    this.#memory.borrowText(layer, (name) => this.#memory.call('svit_session_layer_shape', session, name, out, out + 4));
    return [this.#memory.u32[out / 4], this.#memory.u32[out / 4 + 1]];
  }

  /* Writes the input that the preprocessing makes of an image to the address `out`. */
  #prepare(image, which, channels, pipeline, out) {
    const { data, width, height } = image ?? {}, memory = this.#memory;
    if (!['Uint8Array', 'Uint8ClampedArray'].includes(data?.[Symbol.toStringTag])) /* also of another window */
      throw new TypeError(`the data of image ${which} is no Uint8Array or Uint8ClampedArray, whose numbers are 0 to 255`);
    if (!(Number.isInteger(width) && Number.isInteger(height) && width > 0 && height > 0))
      throw new TypeError(`the size of image ${which} is ${width} x ${height}; whole numbers above 0 are needed`);
    const has = data.length / (width * height);
    const rgba = [1, 3, 4].includes(channels);
    if (has !== channels && !(rgba && has === 4))
      throw new RangeError(`image ${which}, of ${width} x ${height} pixels, has ${data.length} bytes; it needs ` +
        (rgba ? `4 for each pixel (RGBA), or the model's ${channels}` : `the model's ${channels} for each pixel`));
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
          for (let i = 0; i < n; i++) this.#prepare(images[first + i], first + i, channels, pipeline, input + 4 * i * size);
          use(session, input, first, n);
        }
      });
    });
  }

  /* The logits of images: Float32Array [images, classes]. */
  logits(images) {
    checkImages(images);
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
    const memory = this.#memory, { output } = this;
    if (output === 'logits') return logits;
    return memory.borrowFloats(logits, (at) => {
      memory.call(output === 'sigmoid' ? 'svit_sigmoid' : 'svit_softmax', at, n, logits.length / n, at);
      return memory.f32.slice(at / 4, at / 4 + logits.length);
    });
  }

  /* The classes of an image with their confidences, the surest first. */
  predict(image) {
    if (this.#memory.exports.svit_model_text_class_name(this.#model, 0))
      throw new TypeError('the classes of this model are texts; logits() gives the embeddings of images');
    const logits = this.logits([image]), confidences = this.#probabilities(logits, 1);
    return this.classes
      .map((name, label) => ({ label, name, confidence: confidences[label], logit: logits[label] }))
      .sort((a, b) => b.confidence - a.confidence || a.label - b.label);
  }

  /* What a layer computes for images: { values: Float32Array [images, channels], channels }. */
  features(images, layer = 'features') {
    checkImages(images);
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
    const { num_classes: classes } = this.config;
    if (!Number.isInteger(label) || label < 0 || label >= classes)
      throw new RangeError(`the label is ${label}; the model has ${classes} classes`);
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
    if (typeof seed !== 'bigint' || seed < 0n || seed >= 2n ** 64n) checkWhole(seed, 'seed', 0);
    this.#checkUntrained();
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
    this.#checkUntrained();
    const [, channels] = this.#layerShape('features');
    checkSamples(samples, channels, classes, 'samples');
    this.#release();
    this.#borrowFeatures(samples, channels, classes, (set) =>
      memory.borrowConfig('head', config, (at) => memory.call('svit_model_fit_head', model, set, at)));
  }

  /* Adds the class `name`, whose row is fitted to features of it: svit_model_fit_class. `old` are
   * features of the old classes, or null. `config` has the fields of svit_class_config. */
  addClass(name, values, old = null, config = {}) {
    this.#checkUntrained();
    const memory = this.#memory, model = this.#model, [, channels] = this.#layerShape('features');
    for (const features of [values, old ?? values]) {
      checkValues(features, 'the class');
      if (features.length === 0 || features.length % channels !== 0)
        throw new RangeError(`${features.length} values are no features; each has ${channels}`);
    }
    this.#release();
    const fit = (set, others) => memory.borrowText(name, (text) => memory.borrowConfig('class', config, (at) =>
      memory.call('svit_model_fit_class', model, text, set, others, at)));
    this.#borrowFeatures({ values }, channels, 0, (set) =>
      old ? this.#borrowFeatures({ values: old }, channels, 0, (others) => fit(set, others)) : fit(set, 0));
  }

  /* The library changes no classifier, and no second training begins, while one has not ended. */
  #checkUntrained() {
    if (this.#trainings.size > 0) throw new Error('a training has not ended; leave its loop, or call its return()');
  }

  /* Trains what lies behind a layer on its features, an epoch at a time: a generator, which yields
   * { epoch, epochs, loss, accuracy, validation } after each. Leaving its loop ends the training, as its return()
   * does; the model keeps what it has learnt. Without a `layer` the classifier alone learns, in the way of
   * svit_model_fit_head. */
  train(samples, options = {}) {
    const { layer = 'features', epochs = 100, batch = 256, learningRate = 0.003, seed = 0,
      trainable = ['head*'], balanced = false, validation = null, weightDecay = null, ...others } = options;
    for (const name of Object.keys(others))
      throw new TypeError(`'${name}' is no option of train; these are: layer, epochs, batch, learningRate, weightDecay, seed, ` +
        'trainable, balanced, validation');
    const count = countSamples(samples, 'samples');
    const all = { layer, epochs, batch, learningRate, seed, trainable, balanced, validation,
      weightDecay: weightDecay ?? Math.min(10, 5000 / count) };
    checkOptions(all);
    const { output } = this;
    if (output !== 'softmax')
      throw new Error(`train learns one class for each sample, and the output of the model is '${output}'; ` +
        "fitHead and replaceHead make it 'softmax'");
    return this.#epochs(samples, count, all);
  }

  *#epochs(samples, count, { layer, epochs, batch, learningRate, seed, trainable, balanced, validation, weightDecay }) {
    this.#checkUntrained();
    const memory = this.#memory, model = this.#model, { num_classes: classes } = this.config;
    const setTrainable = (pattern, on) =>
      memory.borrowText(pattern, (text) => memory.call('svit_model_set_trainable', model, text, on));
    this.#release();
    const training = new Training(memory, Math.min(batch, count), classes);
    this.#trainings.add(training);
    try {
      setTrainable('*', 0);
      for (const pattern of trainable) setTrainable(pattern, 1);
      training.open(model, layer);
      const trained = checkSamples(samples, training.channels, classes, 'samples');
      const held = validation && checkSamples(validation, training.channels, classes, 'samples of the validation');
      if (balanced) training.balance(trained.labels);
      training.start(model, { learning_rate: learningRate, weight_decay: weightDecay, decay_exclude: ['bias'],
        schedule: 'warmup-cosine', total_steps: epochs * Math.ceil(count / training.batch) });
      const order = Array.from({ length: count }, (none, i) => i);
      const heldOrder = Array.from(held?.labels ?? [], (none, i) => i);
      for (let epoch = 1; epoch <= epochs; epoch++) {
        if (this.#handle !== model) throw new Error('the model has been freed');
        let correct = 0, loss = 0;
        shuffle(order, Math.imul(seed, 1000003) + epoch);
        for (let first = 0; first < count; first += training.batch) {
          const n = Math.min(training.batch, count - first);
          correct += training.forward(trained, order, first, n);
          loss += training.update(n) * n;
        }
        yield { epoch, epochs, loss: loss / count, accuracy: correct / count,
          validation: held ? training.accuracy(held, heldOrder) : null };
      }
    } finally {
      training.free();
      this.#trainings.delete(training);
      if (this.#handle === model) setTrainable('*', 1); /* the loop's body may have freed it */
    }
  }

  /* The bytes of a model file, which the programs and the library's other languages read. */
  save() { return this.#memory.written('svit_model_save_memory', this.#model); }
}
