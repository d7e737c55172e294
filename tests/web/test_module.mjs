/* Tests of shiftvit.js in Node: test_module.mjs WEB_FOLDER NATIVE.json. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import {
  bytes, folder, headerOf, learnable, load, native, read, right, run, scripts, ShiftvitError, withChannels,
  withMetadata,
} from './support.mjs';

const shiftvit = await load();

const tests = {
  'describes itself'() {
    assert.equal(shiftvit.describe().instruction_set, 'wasm-simd128');
    assert.equal(shiftvit.describe().threads, 1);
    assert.equal(shiftvit.version, native.version);
  },

  'loads from bytes and from a compiled module'() {
    const code = readFileSync(`${folder}/shiftvit.wasm`);
    return Promise.all([load(code), load(new WebAssembly.Module(code))]);
  },

  'computes the logits of the native library'() {
    const model = shiftvit.model(bytes), largest = { error: 0 };
    const images = native.images.map(({ file, width, height }) => ({ data: readFileSync(file), width, height }));
    const logits = model.logits(images);
    native.images.forEach((image, i) => image.logits.forEach((value, label) => {
      largest.error = Math.max(largest.error, Math.abs(value - logits[i * image.logits.length + label]));
    }));
    model.free();
    assert.ok(native.images.length >= 20);
    assert.ok(largest.error < 1e-4, `the largest difference is ${largest.error}`);
    return `${native.images.length} images, largest difference ${largest.error.toExponential(1)}`;
  },

  'gives each image the same logits alone and among others'() {
    const model = shiftvit.model(bytes), all = native.images.slice(0, 19).map(read), many = model.logits(all);
    all.forEach((image, i) => assert.deepEqual([...model.logits([image])], [...many.subarray(10 * i, 10 * i + 10)]));
    model.free();
  },

  'predicts classes by confidence, which sum to 1'() {
    const model = shiftvit.model(bytes), classes = model.predict(read(native.images[0]));
    const best = native.images[0].logits.indexOf(Math.max(...native.images[0].logits));
    assert.equal(classes[0].label, best);
    assert.equal(classes[0].name, model.classes[best]);
    assert.ok(Math.abs(classes.reduce((sum, { confidence }) => sum + confidence, 0) - 1) < 1e-6);
    assert.ok(classes.every(({ confidence }, i) => i === 0 || confidence <= classes[i - 1].confidence));
    model.free();
  },

  'takes RGBA as its colours over black'() {
    const model = shiftvit.model(bytes), { data, width, height } = read(native.images[1]);
    const rgba = new Uint8ClampedArray(4 * width * height), over = new Uint8Array(3 * width * height);
    for (let i = 0; i < width * height; i++) {
      const alpha = i % 3 === 0 ? 255 : i % 256;
      for (let c = 0; c < 3; c++) {
        rgba[4 * i + c] = data[3 * i + c];
        over[3 * i + c] = Math.floor((data[3 * i + c] * alpha + 127) / 255);
      }
      rgba[4 * i + 3] = alpha;
    }
    assert.deepEqual(model.logits([{ data: rgba, width, height }]), model.logits([{ data: over, width, height }]));
    model.free();
  },

  'refuses what is no array of bytes'() {
    const model = shiftvit.model(bytes), size = { width: 4, height: 4 };
    for (const data of [new Float32Array(64), new Uint16Array(64), new Int8Array(64), Array(64).fill(1), 'abc', undefined])
      assert.throws(() => model.logits([{ data, ...size }]), /Uint8Array or Uint8ClampedArray/);
    for (const wrong of [{ width: 1.5, height: 2 }, { width: 4 }, { width: '4', height: 4 }, { width: -2, height: -2 }])
      assert.throws(() => model.logits([{ data: new Uint8Array(12), ...wrong }]), /whole numbers above 0 are needed/);
    const one = { data: new Uint8Array(12), width: 2, height: 2 };
    for (const wrong of [one, { length: 1.5, 0: one, 1: one }, new Set([one]), 3, 'abc', null, undefined]) {
      assert.throws(() => model.logits(wrong), /images are no array/);
      assert.throws(() => model.features(wrong), /images are no array/);
    }
    for (const wrong of [null, undefined, 3]) assert.throws(() => model.predict(wrong), /Uint8Array or Uint8ClampedArray/);
    for (const wrong of ['abc', 3, null, undefined, [1, 2]]) assert.throws(() => shiftvit.model(wrong), /no ArrayBuffer/);
    const inside = new Uint8Array(bytes.byteLength + 8);
    inside.set(new Uint8Array(bytes.buffer ?? bytes, bytes.byteOffset ?? 0, bytes.byteLength), 8);
    const same = shiftvit.model(new DataView(inside.buffer, 8)), image = read(native.images[1]);
    assert.deepEqual(same.logits([image]), model.logits([image]));
    same.free();
    model.free();
  },

  'refuses preprocessing of other channels than the model reads'() {
    for (const channels of [1, 4]) {
      const model = shiftvit.model(withMetadata((metadata) => {
        const numbers = { channels, mean: Array(channels).fill(0.5), variance: Array(channels).fill(1), augment: [] };
        metadata.preprocessing = JSON.stringify({ ...JSON.parse(metadata.preprocessing), ...numbers });
      }));
      const image = { data: new Uint8Array(4 * 32 * 32), width: 32, height: 32 };
      const message = `the preprocessing has ${channels} channels, and the model reads images of 3`;
      const computations = [() => model.logits([image]), () => model.features([image]), () => model.map(image, 0)];
      for (const use of [...computations, () => model.layers]) assert.throws(use, { message });
      model.free();
    }
  },

  'reads the channels of models of two and of many, which are no RGBA'() {
    for (const channels of [2, 7]) {
      const model = shiftvit.model(withChannels(channels)), size = { width: 32, height: 32 };
      const logits = (count, value) => model.logits([{ data: new Uint8Array(count * 32 * 32).fill(value), ...size }]);
      assert.ok(logits(channels, 9).every(Number.isFinite));
      assert.notDeepEqual(logits(channels, 9), logits(channels, 99));
      const message = `image 0, of 32 x 32 pixels, has 4096 bytes; it needs the model's ${channels} for each pixel`;
      assert.throws(() => logits(4, 9), { name: 'RangeError', message });
      model.free();
    }
  },

  'says what becomes of the logits, and from when on a class is known'() {
    const image = read(native.images[0]);
    const sum = (classes) => classes.reduce((all, { confidence }) => all + confidence, 0);
    for (const output of ['softmax', 'sigmoid', 'logits']) {
      const file = withMetadata((metadata) => Object.assign(metadata, { output, known_threshold: '0.25' }));
      const model = shiftvit.model(file), classes = model.predict(image);
      assert.deepEqual([model.output, model.threshold], [output, 0.25]);
      assert.equal(classes.every(({ confidence, logit }) => confidence === logit), output === 'logits');
      assert.equal(Math.abs(sum(classes) - 1) < 1e-6, output === 'softmax');
      model.replaceHead(['a', 'b']);
      assert.deepEqual([model.output, model.threshold], ['softmax', 0]);
      model.free();
    }
    const model = shiftvit.model(bytes);
    assert.deepEqual([model.output, model.threshold], ['softmax', 0]);
    model.free();
  },

  'names its parameters'() {
    const model = shiftvit.model(bytes), { parameters } = model, saved = headerOf(Buffer.from(model.save()));
    assert.deepEqual(['__metadata__', ...parameters], Object.keys(saved));
    assert.ok(parameters.every((name) => model.parameter(name).values.length > 0));
    model.free();
    assert.throws(() => model.parameters, /freed/);
  },

  'exports no function that nothing calls'() {
    const text = scripts(), isNamedByParts = (name) => /_config_(to|from)_json$|^svit_model_get_config$/.test(name);
    for (const file of ['shiftvit.wasm', 'shiftvit-threads.wasm']) {
      const exported = WebAssembly.Module.exports(new WebAssembly.Module(readFileSync(`${folder}/${file}`)));
      const ours = exported.map(({ name }) => name).filter((name) => /^(svit|module)_/.test(name));
      assert.ok(ours.length > 40);
      assert.deepEqual(ours.filter((name) => !isNamedByParts(name) && !new RegExp(`\\b${name}\\b`).test(text)), []);
    }
  },

  'refuses what is no name, no sample and no option'() {
    const model = shiftvit.model(bytes), samples = learnable(model), { values, labels } = samples;
    for (const wrong of [undefined, null, 3, {}]) {
      assert.throws(() => model.parameter(wrong), /name is of the type \w+; it is a string/);
      assert.throws(() => model.addClass(wrong, values), /name is of the type/);
      assert.throws(() => model.replaceHead(wrong), /names are no array/);
      assert.throws(() => model.replaceHead(['a', wrong]), /name is of the type/);
    }
    const wrongs = [[{ values: [...values], labels }, /no Float32Array/], [{ values: new Float64Array(values), labels }, /no Float32Array/],
      [null, /no Float32Array/], [{ values }, /no labels/], [{ values, labels: new Set(labels) }, /no labels/],
      [{ values: values.subarray(0, 0), labels: [] }, /no labels/], [{ values, labels: labels.slice(1) }, /a sample has 384 values/]];
    for (const [wrong, message] of wrongs) {
      assert.throws(() => model.fitHead(wrong), message);
      assert.throws(() => model.train(wrong).next(), message);
      if (wrong) assert.throws(() => model.train(samples, { validation: wrong }).next(), message);
    }
    assert.throws(() => model.addClass('x', [...values]), /no Float32Array/);
    assert.throws(() => model.addClass('x', values, [...values]), /no Float32Array/);
    assert.throws(() => model.train(samples, { learning_rate: 1 }).next(), /'learning_rate' is no option .*learningRate/);
    for (const [name, values] of Object.entries({ epochs: [2.5, NaN, Infinity, '3', null, 0, -1, 1e12], batch: [0, NaN, '8', -1],
      seed: ['abc', NaN, 1.5, -1, 2 ** 60, null] }))
      for (const value of values)
        assert.throws(() => model.train(samples, { [name]: value }), { name: 'RangeError',
          message: new RegExp(`^${name} is ${value}; it is a whole number from`) });
    for (const value of [-1, NaN, Infinity, '1', null]) {
      assert.throws(() => model.train(samples, { learningRate: value }), /^RangeError: learningRate is .*; it is a number from 0 on/);
      if (value !== null) assert.throws(() => model.train(samples, { weightDecay: value }), /weightDecay is/);
    }
    for (const trainable of ['head*', '*', null, {}]) assert.throws(() => model.train(samples, { trainable }), /trainable is no array/);
    assert.throws(() => model.train(samples, { balanced: 'no' }), /balanced is no; it is true or false/);
    for (const names of [[, 'a'], new Array(3), new Array(14)]) /* sparse arrays */
      assert.throws(() => model.replaceHead(names), { name: 'TypeError', message: /name is of the type undefined/ });
    for (const seed of ['abc', {}, -1, 2 ** 64, '', true, '5', -1n, 2n ** 64n])
      assert.throws(() => model.replaceHead(['a', 'b'], seed), { name: 'RangeError', message: /^seed is / });
    for (const config of [null, () => 1, [], 3]) assert.throws(() => model.fitHead(samples, config), /configuration is no object/);
    const broken = { values: samples.values.slice(), labels };
    broken.values[3 + 384] = NaN;
    for (const call of [() => model.fitHead(broken), () => model.train(broken).next(), () => model.train(samples, { validation: broken }).next()])
      assert.throws(call, /have the value NaN in channel 3 of sample 1; finite numbers/);
    const image = read(native.images[0]);
    assert.throws(() => model.logits([image, { data: new Uint8Array(5), width: 1, height: 1 }]), /image 1, of 1 x 1 pixels, has 5 bytes/);
    assert.throws(() => model.logits([image, null]), /data of image 1 is no Uint8Array/);
    assert.deepEqual(model.classes, shiftvit.model(bytes).classes);
    for (const lone of ['\ud800', 'a\udc00b', '\udc00\ud800']) {
      assert.throws(() => model.replaceHead(['a', lone]), /half of a surrogate pair/);
      assert.throws(() => model.addClass(lone, values), /half of a surrogate pair/);
    }
    model.replaceHead(['a', '\u{1f600}']);
    assert.deepEqual(model.classes, ['a', '\u{1f600}']);
    model.free();
  },

  'trains one training at a time, which ends before the classifier changes'() {
    const model = shiftvit.model(bytes), samples = learnable(model);
    const [first, second] = [model.train(samples), model.train(samples)];
    first.next();
    for (const call of [() => second.next(), () => model.replaceHead(['a', 'b']), () => model.addClass('x', samples.values)])
      assert.throws(call, /a training has not ended; leave its loop, or call its return\(\)/);
    assert.equal(first.next().value.epoch, 2);
    first.return();
    model.replaceHead(['a', 'b']);
    model.free();
    for (const output of ['sigmoid', 'logits']) {
      const other = shiftvit.model(withMetadata((metadata) => Object.assign(metadata, { output })));
      assert.throws(() => other.train(samples), new RegExp(`output of the model is '${output}'`));
      other.fitHead(samples, { epochs: 1 });
      assert.equal(other.train(samples, { epochs: 1 }).next().value.epoch, 1);
      other.free();
    }
  },

  'takes all fields of its types'() {
    const model = shiftvit.model(bytes), samples = learnable(model), types = readFileSync(`${folder}/shiftvit.d.ts`, 'utf8');
    const fieldsOf = (name) =>
      [...types.split(`interface ${name} {`)[1].split('\n}')[0].matchAll(/^ {2}(?:readonly )?(\w+)\??: /gm)].map(([, field]) => field);
    const values = { layer: 'features', trainable: ['head*'], epochs: 1, batch: 4, learningRate: 0.1, weightDecay: 0.1, balanced: true,
      seed: 1, validation: samples, learning_rate: 0.1, weight_decay: 0.1, label_smoothing: 0.1, new_weight: 1, recall: 0.5 };
    const options = (name) => Object.fromEntries(fieldsOf(name).map((field) => [field, values[field]]));
    assert.ok(fieldsOf('TrainOptions').length === 9 && fieldsOf('HeadConfig').length === 7 && fieldsOf('ClassConfig').length === 3);
    const [epoch] = model.train(samples, options('TrainOptions'));
    model.fitHead(samples, options('HeadConfig'));
    const image = read(native.images[0]);
    const results = { Epoch: epoch, Prediction: model.predict(image)[0], ImageMap: model.map(image, 0), Features: model.features([image]) };
    model.addClass('x', samples.values, null, options('ClassConfig'));
    for (const [name, result] of Object.entries(results)) assert.deepEqual(Object.keys(result).sort(), fieldsOf(name).sort(), name);
    model.free();
  },

  async 'allocates no remainder of more bytes than addresses'() {
    const { importsOf, Memory } = await import(pathToFileURL(`${folder}/memory.js`));
    const module = new WebAssembly.Module(readFileSync(`${folder}/shiftvit.wasm`));
    const { exports } = new WebAssembly.Instance(module, importsOf(module, null, () => exports.memory));
    exports._initialize?.();
    const memory = new Memory(exports, exports.memory);
    for (const size of [2 ** 32 + 64, 3 * 2 ** 32, NaN, Infinity])
      assert.throws(() => memory.allocate(size), (error) => error.status === 'SVIT_E_MEMORY', `${size}`);
  },

  async 'is what bundlers for pages can take, and no page is taken for Node'() {
    const text = scripts();
    assert.doesNotMatch(text, /(import\(|from )\s*['"]node:/);
    for (const name of ['shiftvit', 'shiftvit-threads']) assert.ok(text.includes(`new URL('./${name}.wasm', import.meta.url)`));
    const { process } = globalThis, address = `${pathToFileURL(`${folder}/threads.js`)}`;
    try {
      globalThis.process = { env: {}, versions: {} }; /* as bundlers put it there */
      assert.equal((await import(`${address}?page`)).isNode, false);
    } finally {
      globalThis.process = process;
    }
    assert.equal((await import(address)).isNode, true);
  },

  'maps the evidence for a class, whose mean is the logit less the mean of all'() {
    const model = shiftvit.model(bytes), image = read(native.images[2]), logits = model.logits([image]);
    const mean = logits.reduce((sum, value) => sum + value, 0) / logits.length;
    for (let label = 0; label < logits.length; label++) {
      const { kind, width, height, values } = model.map(image, label);
      assert.deepEqual([kind, width, height], ['evidence', 4, 4]);
      const average = values.reduce((sum, value) => sum + value, 0) / values.length;
      assert.ok(Math.abs(average - (logits[label] - mean)) < 1e-4);
    }
    model.free();
  },

  'maps the attention of a ViT'() {
    const model = shiftvit.model(readFileSync(native.vit.file)), image = read(native.images[0]);
    const { kind, values, width, height } = model.map(image, 0), logits = model.logits([image]);
    assert.equal(kind, 'attention');
    assert.equal(values.length, width * height);
    assert.ok(values.every((value) => value > 0));
    assert.ok(Math.abs(values.reduce((sum, value) => sum + value, 0) - 1) < 1e-4);
    native.vit.logits.forEach((value, label) => assert.ok(Math.abs(value - logits[label]) < 1e-4));
    model.free();
  },

  'fits a head whose file says the same'() {
    const model = shiftvit.model(bytes), samples = learnable(model);
    model.replaceHead(['discs', 'stripes']);
    model.fitHead(samples, { epochs: 100, balanced: true });
    const again = shiftvit.model(model.save()), images = native.images.map(read);
    assert.deepEqual(again.classes, ['discs', 'stripes']);
    assert.deepEqual(again.logits(images), model.logits(images));
    assert.equal(right(model), native.images.length);
    model.free();
    again.free();
  },

  'trains an epoch at a time, and stops where its loop is left'() {
    const model = shiftvit.model(bytes), samples = learnable(model), epochs = [];
    model.replaceHead(['discs', 'stripes']);
    for (const epoch of model.train(samples, { balanced: true, validation: samples })) epochs.push(epoch);
    assert.equal(epochs.length, 100);
    assert.equal(epochs[99].validation, 1);
    assert.ok(epochs[99].loss < epochs[0].loss);
    assert.equal(right(model), native.images.length);
    for (const { epoch } of model.train(samples)) if (epoch === 3) break;
    model.predict(read(native.images[0]));
    model.free();
  },

  'trains on the labels that it has checked'() {
    const once = (change) => {
      const model = shiftvit.model(bytes), samples = learnable(model), epochs = [];
      model.replaceHead(['discs', 'stripes']);
      for (const epoch of model.train(samples, { epochs: 3, validation: samples })) {
        epochs.push(epoch);
        change(samples);
      }
      model.free();
      return epochs;
    };
    const epochs = once(() => {});
    assert.deepEqual(once(({ labels }) => labels.fill('stripes')), epochs);
    assert.deepEqual(once((samples) => { samples.labels = []; }), epochs);
  },

  'predicts within a loop what it has learnt so far'() {
    const model = shiftvit.model(bytes), samples = learnable(model), image = read(native.images[0]);
    model.replaceHead(['discs', 'stripes']);
    for (const { epoch } of model.train(samples, { epochs: 3 })) {
      const again = shiftvit.model(model.save());
      assert.deepEqual(model.logits([image]), again.logits([image]), `epoch ${epoch}`);
      again.free();
    }
    model.free();
  },

  'may be freed within the loop that trains it'() {
    const once = (free) => {
      const model = shiftvit.model(bytes), samples = learnable(model);
      for (const { epoch } of model.train(samples, { epochs: 3 })) if (epoch === 2) { free(model); break; }
      model.free();
    };
    once(() => {});
    const { usedBytes } = shiftvit, other = shiftvit.model(bytes), logits = other.logits([read(native.images[0])]);
    other.free();
    once((model) => model.free());
    assert.equal(shiftvit.usedBytes, usedBytes);
    const left = shiftvit.model(bytes), epochs = left.train(learnable(left));
    epochs.next();
    left.free(); /* a loop that was left without an end */
    assert.equal(shiftvit.usedBytes, usedBytes);
    assert.throws(() => epochs.next(), /the model has been freed/);
    assert.equal(shiftvit.usedBytes, usedBytes);
    const last = shiftvit.model(bytes);
    assert.deepEqual(last.logits([read(native.images[0])]), logits);
    last.free();
  },

  'fine-tunes what lies behind a layer, and nothing else'() {
    const model = shiftvit.model(bytes), layer = 'layers.1.blocks.5';
    const samples = { ...model.features(native.images.map(read), layer), labels: native.images.map(({ label }) => label) };
    const below = 'layers.1.blocks.5.mlp.fc1.weight', above = 'layers.2.blocks.0.mlp.fc1.weight';
    const before = model.parameter(below), last = model.parameter(above);
    model.replaceHead(['discs', 'stripes']);
    const options = { layer, trainable: ['layers.2.*', 'head*'], epochs: 5, batch: 8, learningRate: 0.0005 };
    const epochs = [...model.train(samples, options)];
    assert.ok(epochs[4].loss < epochs[0].loss);
    assert.deepEqual(model.parameter(below), before);
    assert.notDeepEqual(model.parameter(above), last);
    model.free();
  },

  'adds a class beside the old ones'() {
    const model = shiftvit.model(bytes), discs = native.images.filter(({ label }) => label === 0).map(read);
    const before = model.parameter('head.weight').values;
    model.addClass('disc', model.features(discs).values);
    assert.equal(model.classes.length, 11);
    assert.deepEqual(model.parameter('head.weight').values.subarray(0, before.length), before);
    assert.ok(discs.filter((image) => model.predict(image)[0].name === 'disc').length >= discs.length / 2);
    model.free();
  },

  'throws the messages of the library'() {
    const fails = (call, status, text) => assert.throws(call, (error) => {
      assert.ok(error instanceof ShiftvitError, `${error}`);
      assert.equal(error.status, status);
      assert.match(error.message, text);
      return true;
    });
    const damaged = new Uint8Array(bytes);
    damaged.fill(255, 100, 200);
    fails(() => shiftvit.model(new Uint8Array(0)), 'SVIT_E_FORMAT', /the model in memory/);
    fails(() => shiftvit.model(bytes.subarray(0, 100000)), 'SVIT_E_FORMAT', /the model in memory/);
    fails(() => shiftvit.model(damaged), 'SVIT_E_FORMAT', /the model in memory/);
    const model = shiftvit.model(bytes), { values } = model.features([read(native.images[0])]);
    fails(() => model.parameter('tail.weight'), 'SVIT_E_ARGUMENT', /tail\.weight/);
    fails(() => model.fitHead({ values, labels: [0] }, { epochs: 0 }), 'SVIT_E_ARGUMENT', /epochs/);
    fails(() => model.addClass('cat', values), 'SVIT_E_ARGUMENT', /cat/);
    fails(() => model.features([read(native.images[0])], 'attic'), 'SVIT_E_ARGUMENT', /attic/);
    assert.throws(() => model.fitHead({ values, labels: [12] }), /label 12/);
    assert.throws(() => model.map(read(native.images[0]), 10), /label is 10/);
    assert.throws(() => model.predict({ data: new Uint8Array(5), width: 2, height: 2 }), /2 x 2/);
    assert.throws(() => model.addClass('a\0b', values), /NUL/);
    model.predict(read(native.images[0]));
    model.free();
    assert.throws(() => model.predict(read(native.images[0])), /freed/);
    model.free();
  },

  'frees all memory'() {
    const once = () => {
      const model = shiftvit.model(bytes), samples = learnable(model);
      model.replaceHead(['discs', 'stripes']);
      for (const { epoch } of model.train(samples, { epochs: 3, balanced: true, validation: samples })) if (epoch === 2) break;
      model.save();
      model.map(read(native.images[0]), 1);
      assert.throws(() => shiftvit.model(bytes.subarray(0, 200000)));
      model.free();
    };
    once();
    const { usedBytes, memoryBytes } = shiftvit;
    for (let i = 0; i < 3; i++) once();
    assert.equal(shiftvit.usedBytes, usedBytes);
    assert.equal(shiftvit.memoryBytes, memoryBytes);
    return `${(memoryBytes / 2 ** 20).toFixed(0)} MiB`;
  },
};

await run(tests);
