/* Training what lies behind a layer of a model. A part of shiftvit.js. */

const MODE_INFER = 0, MODE_TRAIN = 1;

/* Brings `order` into a random order, by a seed (mulberry32; Durstenfeld's shuffle). */
export function shuffle(order, seed) {
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

/* Throws unless values are what `features` gives. */
export function checkValues(values, what) {
  if (values?.[Symbol.toStringTag] !== 'Float32Array') /* also of another window */
    throw new TypeError(`the values of ${what} are no Float32Array`);
}

/* Throws unless a value is a whole number from `min` to `max`. */
export function checkWhole(value, name, min, max = Number.MAX_SAFE_INTEGER) {
  if (!Number.isSafeInteger(value) || value < min || value > max)
    throw new RangeError(`${name} is ${value}; it is a whole number from ${min} to ${max}`);
}

/* Throws unless the options of a training are of their types; what fits the model is checked where it is used. */
export function checkOptions({ epochs, batch, learningRate, weightDecay, seed, trainable, balanced }) {
  checkWhole(epochs, 'epochs', 1, 1000000);
  checkWhole(batch, 'batch', 1);
  checkWhole(seed, 'seed', 0);
  for (const [name, value] of Object.entries({ learningRate, weightDecay }))
    if (typeof value !== 'number' || !(value >= 0 && value < Infinity))
      throw new RangeError(`${name} is ${value}; it is a number from 0 on`);
  if (!Array.isArray(trainable)) throw new TypeError('trainable is no array of patterns');
  if (typeof balanced !== 'boolean') throw new TypeError(`balanced is ${balanced}; it is true or false`);
}

/* Returns how many samples there are; throws if they are none. */
export function countSamples(samples, what) {
  checkValues(samples?.values, what);
  if (!(samples.labels?.length > 0)) throw new TypeError(`${what} have no labels; an array of at least one is needed`);
  return samples.labels.length;
}

/* Throws unless samples are of rows of `channels` values with labels below `classes`. Returns them with a copy of the
 * labels, which stays as it was checked. */
export function checkSamples(samples, channels, classes, what) {
  countSamples(samples, what);
  const { values, labels } = samples;
  if (values.length !== labels.length * channels)
    throw new RangeError(`${what} have ${values.length} values and ${labels.length} labels; ` +
      `a sample has ${channels} values`);
  const wrong = values.findIndex((value) => !Number.isFinite(value));
  if (wrong >= 0)
    throw new RangeError(`${what} have the value ${values[wrong]} in channel ${wrong % channels} of sample ` +
      `${Math.floor(wrong / channels)}; finite numbers are accepted`);
  for (const label of labels)
    if (!Number.isInteger(label) || label < 0 || label >= classes)
      throw new RangeError(`${what} have the label ${label}; the model has ${classes} classes`);
  return { values, labels: Int32Array.from(labels) };
}

/* A session on the features of a layer, whose layers behind it learn. */
export class Training {
  /* Holds nothing until `open`, so `free` may follow wherever that fails. */
  constructor(memory, batch, classes) {
    this.memory = memory;
    this.classes = classes;
    this.batch = batch;
    this.session = this.optimizer = 0;
    this.rows = this.logits = this.dlogits = this.labels = 0;
    this.weights = 0; /* of classes; none: 1 for each */
  }

  open(model, layer) {
    const { memory, batch, classes } = this;
    this.session = memory.borrowConfig('session', { mode: 'train', max_batch: batch, input_layer: layer },
      (config) => memory.create('svit_session_create', model, config));
    this.channels = memory.exports.svit_session_input_size(this.session);
    this.rows = memory.allocate(4 * batch * this.channels);
    this.logits = memory.allocate(4 * batch * classes);
    this.dlogits = memory.allocate(4 * batch * classes);
    this.labels = memory.allocate(4 * batch);
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

  /* May be called again. */
  free() {
    const { exports } = this.memory;
    for (const name of ['rows', 'logits', 'dlogits', 'labels', 'weights']) {
      exports.free(this[name]);
      this[name] = 0;
    }
    exports.svit_optimizer_free(this.optimizer);
    exports.svit_session_free(this.session);
    this.optimizer = this.session = 0;
  }
}
