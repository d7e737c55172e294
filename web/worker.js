/* The worker of the page: it decodes images, computes and learns, so that the page never waits. Each
 * request { id, type, ... } gets replies { id, progress } and at last { id, result } or { id, error }. */
import { load } from './shiftvit.js';

const CHUNK = 16; /* images that are decoded at a time */
const LONGEST_SIDE = 4096; /* pixels; larger images are reduced by the browser, to save memory */
const THUMBNAILS = 12, THUMBNAIL_PIXELS = 96;
const HELD_OUT = 5; /* every fifth image of a class measures, where each class has TO_HOLD_OUT */
const TO_HOLD_OUT = 10;
const TUNING_BYTES = 256 * 2 ** 20; /* of the features that fine-tuning reads */

let library = null;
let base = null; /* { bytes, model, name }: what recognises at first, and gives the features */
let learnt = null; /* { model, numbers, tuned }: the reader's own classes, and whether the features are its own, too */
let running = 0, teaching = 0, cancelled = 0; /* the numbers of requests: of the last one to learn, and of the one to end */
const collected = new Map(); /* by the number of the class: { blobs: Blob[], features: Float32Array[] } */
const canvas = new OffscreenCanvas(1, 1);
const context = canvas.getContext('2d', { willReadFrequently: true });

const imagesOf = (number) => collected.get(number) ?? { blobs: [], features: [] };
const current = () => learnt?.model ?? base.model;

async function fetched(name) {
  const response = await fetch(new URL(name, self.location.href));
  if (!response.ok) throw new Error(`${name}: ${response.status} ${response.statusText}`);
  return response.arrayBuffer();
}

function describe(model, name) {
  const { architecture, input_width, input_height } = model.config;
  return { name, classes: model.classes, architecture, width: input_width, height: input_height };
}

function setLearnt(next) {
  if (learnt?.model !== next?.model) learnt?.model.free();
  learnt = next;
}

function setBase(bytes, name) {
  const model = library.model(bytes);
  try {
    model.layers; /* throws if the model has no preprocessing */
  } catch (error) {
    model.free();
    throw error;
  }
  base?.model.free();
  setLearnt(null);
  base = { bytes, model, name };
  for (const images of collected.values()) images.features = [];
  return describe(model, name);
}

/* The image as the model's own decoders would read it: upright and without colour management. */
async function decode(source) {
  const options = { colorSpaceConversion: 'none', premultiplyAlpha: 'none' };
  try {
    const bitmap = source instanceof ImageBitmap ? source : await createImageBitmap(source, options);
    const scale = LONGEST_SIDE / Math.max(bitmap.width, bitmap.height);
    if (scale >= 1) return bitmap;
    const reduced = await createImageBitmap(bitmap, { ...options, resizeQuality: 'high',
      resizeWidth: Math.max(1, Math.round(bitmap.width * scale)),
      resizeHeight: Math.max(1, Math.round(bitmap.height * scale)) });
    bitmap.close();
    return reduced;
  } catch {
    throw new Error(`${source.name ?? 'The image'} is no image that this browser reads`);
  }
}

/* The pixels as RGBA. A canvas stores colours multiplied by alpha, so those of transparent pixels are rounded here, and
 * 0 where alpha is. Over black, for models of 3 channels, they are what the decoders give; models of 1 or 4 channels
 * get other values there. */
function pixelsOf(bitmap) {
  const { width, height } = bitmap;
  canvas.width = width;
  canvas.height = height;
  context.drawImage(bitmap, 0, 0);
  return context.getImageData(0, 0, width, height);
}

function thumbnail(bitmap) {
  const side = Math.min(bitmap.width, bitmap.height);
  return createImageBitmap(bitmap, (bitmap.width - side) >> 1, (bitmap.height - side) >> 1, side, side,
    { resizeWidth: THUMBNAIL_PIXELS, resizeHeight: THUMBNAIL_PIXELS, resizeQuality: 'medium' });
}

/* Lets the requests that have come meanwhile be seen. */
const pause = () => new Promise((resolve) => { setTimeout(resolve); });

function checkCancelled() {
  if (running === cancelled) throw new Error('Cancelled');
}

/* Reports on images that are looked at: so often each, of which features that are there count once. */
function reporter(progress, sets, times) {
  const of = times * sets.reduce((sum, images) => sum + images.blobs.length, 0);
  let done = sets.reduce((sum, images) => sum + images.features.length, 0);
  return (more) => progress({ phase: 'images', done: (done += more), of });
}

/* The features of all images of a class, of which those of new ones are computed. */
async function completeFeatures(images, report) {
  while (images.features.length < images.blobs.length) {
    checkCancelled();
    const from = images.features.length;
    const bitmaps = await Promise.all(images.blobs.slice(from, from + CHUNK).map(decode));
    const { values, channels } = base.model.features(bitmaps.map(pixelsOf));
    for (const [i, bitmap] of bitmaps.entries()) {
      images.features.push(values.slice(i * channels, (i + 1) * channels));
      bitmap.close();
    }
    report(bitmaps.length);
    await pause();
  }
}

/* The last stage of a ShiftViT or the last block of a ViT: the layer before it, and what learns. */
function lastPart(model) {
  const { layers } = model, { architecture } = model.config;
  if (architecture === 'shiftvit') {
    const stage = /^layers\.(\d+)\./.exec(layers[layers.length - 2])?.[1];
    const before = layers.filter((name) => /^layers\./.test(name) && !name.startsWith(`layers.${stage}.`)).pop();
    return before ? { layer: before, trainable: [`layers.${stage}.*`, 'head*'] } : null;
  }
  const blocks = layers.filter((name) => /^blocks\.\d+$/.test(name));
  const [before, last] = blocks.slice(-2);
  return last ? { layer: before, trainable: [`${last}.*`, 'head*'] } : null;
}

/* The features of a model's layer for all images in the order of `rows`. */
async function layerFeatures(model, layer, rows, report) {
  let all = null;
  for (let first = 0; first < rows.length; first += CHUNK) {
    checkCancelled();
    const bitmaps = await Promise.all(rows.slice(first, first + CHUNK).map((row) => decode(row.blob)));
    const { values, channels } = model.features(bitmaps.map(pixelsOf), layer);
    if (4 * channels * rows.length > TUNING_BYTES)
      throw new Error(`Fine-tuning takes at most ${Math.floor(TUNING_BYTES / channels / 4)} images with this model; ` +
        `there are ${rows.length}. Without fine-tuning there may be more.`);
    all ??= new Float32Array(channels * rows.length);
    all.set(values, first * channels);
    for (const bitmap of bitmaps) bitmap.close();
    report(bitmaps.length);
    await pause();
  }
  return all;
}

/* The images of classes, { label, features, blob, held }, by the numbers of the classes. */
function rowsOf(numbers) {
  const sets = numbers.map(imagesOf), holds = sets.every((images) => images.blobs.length >= TO_HOLD_OUT);
  return sets.flatMap((images, label) => images.features.map((features, i) =>
    ({ label, features, blob: images.blobs[i], held: holds && i % HELD_OUT === HELD_OUT - 1 })));
}

function joined(rows) {
  const channels = rows[0].features.length, values = new Float32Array(rows.length * channels);
  rows.forEach((row, i) => values.set(row.features, i * channels));
  return values;
}

/* The share of rows whose class the model's classifier finds from their features; null if there are none. */
function accuracyOf(model, rows, values) {
  const { values: weight, shape: [classes, channels] } = model.parameter('head.weight');
  const { values: bias } = model.parameter('head.bias');
  const logit = (i, k) => {
    let sum = bias[k];
    for (let c = 0; c < channels; c++) sum += weight[k * channels + c] * values[i * channels + c];
    return sum;
  };
  const right = rows.filter(({ label }, i) => {
    const logits = Array.from({ length: classes }, (none, k) => logit(i, k));
    return logits.indexOf(Math.max(...logits)) === label;
  });
  return rows.length ? right.length / rows.length : null;
}

/* Trains a model in phases, { samples, validation, options }; yields the epochs of all of them as those of one training. */
function* trainPhases(model, phases) {
  const epochs = phases.reduce((sum, { options }) => sum + options.epochs, 0);
  let before = 0;
  for (const { samples, validation, options } of phases) {
    for (const epoch of model.train(samples, { ...options, balanced: true, validation }))
      yield { ...epoch, epoch: before + epoch.epoch, epochs };
    before += options.epochs;
  }
}

const requests = {
  async start({ wasm, model, threads }) {
    const started = load(wasm, { threads }).catch(() => load(wasm)); /* where threads are not allowed, with one */
    const [loaded, bytes] = await Promise.all([started, model ?? fetched('cifar10.safetensors')]);
    library = loaded;
    return { version: library.version, threads: library.threads, model: setBase(bytes, 'cifar10.safetensors') };
  },

  async open({ file }) {
    return setBase(await file.arrayBuffer(), file.name);
  },

  async predict({ image }) {
    const bitmap = await decode(image), pixels = pixelsOf(bitmap), model = current();
    const { width, height } = bitmap;
    bitmap.close();
    const classes = model.predict(pixels);
    return { classes, output: model.output, width, height, map: model.map(pixels, classes[0].label) };
  },

  /* Adds some images to a class. Those that cannot be decoded are left out, and counted. */
  async add({ number, files }) {
    if (!collected.has(number)) collected.set(number, { blobs: [], features: [] });
    const images = collected.get(number), thumbnails = [];
    await completeFeatures(images, () => {});
    const settled = await Promise.allSettled(files.map(decode));
    const good = settled.flatMap((one, i) => (one.status === 'fulfilled' ? [[one.value, files[i]]] : []));
    const failures = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason.message] : []));
    const { values, channels } = base.model.features(good.map(([bitmap]) => pixelsOf(bitmap)));
    for (const [i, [bitmap, file]] of good.entries()) {
      if (images.blobs.length < THUMBNAILS) thumbnails.push(await thumbnail(bitmap));
      bitmap.close();
      images.blobs.push(file);
      images.features.push(values.slice(i * channels, (i + 1) * channels));
    }
    return { count: images.blobs.length, thumbnails, failed: failures.length, failure: failures[0] ?? null };
  },

  async remove({ number }) {
    collected.delete(number);
  },

  /* Learns the classes [{ number, name }]: the classifier, and then what lies behind the last but one stage, too. */
  async learn({ classes, tune }, progress) {
    const numbers = classes.map(({ number }) => number), sets = numbers.map(imagesOf);
    const part = tune ? lastPart(base.model) : null;
    if (tune && !part) throw new Error('This model has no stage before its last one, so it cannot be fine-tuned');
    const report = reporter(progress, sets, tune ? 2 : 1);
    for (const images of sets) await completeFeatures(images, report);
    const rows = rowsOf(numbers), train = rows.filter((row) => !row.held), held = rows.filter((row) => row.held);
    const samplesOf = async (some, features) =>
      (some.length ? { labels: some.map(({ label }) => label), values: await features(some) } : null);
    const phase = async (options, features) =>
      ({ options, samples: await samplesOf(train, features), validation: await samplesOf(held, features) });
    const phases = [await phase({ epochs: 100 }, joined)];
    if (part)
      phases.push(await phase({ ...part, epochs: 20, batch: 32, learningRate: 0.0002, weightDecay: 0.05 },
        (some) => layerFeatures(base.model, part.layer, some, report)));
    const model = library.model(base.bytes);
    try {
      model.replaceHead(classes.map(({ name }) => name), 1);
      let last = null;
      for (const epoch of trainPhases(model, phases)) {
        progress({ phase: 'epochs', ...epoch });
        last = epoch;
        await pause();
        checkCancelled();
      }
      setLearnt({ model, numbers, tuned: tune });
      return { model: describe(model, 'your model'), trained: train.length, held: held.length, accuracy: last.accuracy,
        validation: last.validation };
    } catch (error) {
      model.free();
      throw error;
    }
  },

  /* Adds a class to what is learnt, whose other classes stay as they are. */
  async extend({ number, name }, progress) {
    if (!learnt) throw new Error('There is no model to add to'); /* another one was opened meanwhile */
    const { model, tuned, numbers: old } = learnt, numbers = [...old, number], sets = numbers.map(imagesOf);
    const report = reporter(progress, sets, tuned ? 2 : 1);
    for (const images of sets) await completeFeatures(images, report);
    const rows = rowsOf(numbers), isNew = ({ label }) => label === old.length;
    const features = async (some) => {
      if (some.length === 0) return null;
      return tuned ? layerFeatures(model, 'features', some, report) : joined(some);
    };
    const parts = [];
    for (const some of [rows.filter((row) => !row.held && isNew(row)), rows.filter((row) => !row.held && !isNew(row)),
      rows.filter((row) => row.held)]) parts.push([some, await features(some)]);
    const [[added, values], [, others], [held, measured]] = parts;
    model.addClass(name, values, others);
    learnt.numbers = numbers;
    return { model: describe(model, 'your model'), added: name, trained: added.length, held: held.length,
      accuracy: accuracyOf(model, added, values), validation: accuracyOf(model, held, measured) };
  },

  async save() {
    return current().save();
  },

  async forget() {
    setLearnt(null);
    return describe(base.model, base.name);
  },
};

function transferable(result) {
  if (result instanceof Uint8Array) return [result.buffer];
  return result?.thumbnails ?? [];
}

/* One request after another; a cancellation goes past those that wait. */
let queue = Promise.resolve();
self.onmessage = ({ data: { id, type, ...request } }) => {
  if (type === 'cancel') {
    cancelled = teaching;
    return;
  }
  if (type === 'learn' || type === 'extend') teaching = id;
  queue = queue.then(async () => {
    running = id;
    try {
      const result = await requests[type](request, (progress) => self.postMessage({ id, progress }));
      self.postMessage({ id, result }, transferable(result));
    } catch (error) {
      self.postMessage({ id, error: error.message });
    }
  });
};
