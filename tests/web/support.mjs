/* What the tests of shiftvit.js in Node share. Their programs take WEB_FOLDER NATIVE.json: NATIVE.json has what the
 * native library says of the same images, and run.sh writes it by native.py. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { resolve } from 'node:path';

export const folder = resolve(process.argv[2]);
export const native = JSON.parse(readFileSync(process.argv[3], 'utf8'));
export const { load, ShiftvitError } = await import(pathToFileURL(`${folder}/shiftvit.js`));
export const bytes = readFileSync(`${folder}/cifar10.safetensors`);

/* The sources of the module. */
export function scripts() {
  const names = ['memory', 'shiftvit', 'threads', 'training'];
  return names.map((name) => readFileSync(`${folder}/${name}.js`, 'utf8')).join('');
}

/* The header of a file in the format of safetensors. */
export function headerOf(file) {
  return JSON.parse(file.toString('utf8', 8, 8 + Number(file.readBigUInt64LE(0))));
}

function fileOf(header, ...data) {
  const text = Buffer.from(JSON.stringify(header)), length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([length, text, ...data]);
}

const tensors = () => bytes.subarray(8 + Number(bytes.readBigUInt64LE(0)));

/* The file of the model with other metadata. */
export function withMetadata(change) {
  const header = headerOf(bytes);
  change(header.__metadata__);
  return fileOf(header, tensors());
}

/* The file of the model for images of other channels, all of whose weights in the embedding are equal. */
export function withChannels(channels) {
  const { __metadata__: metadata, ...all } = headerOf(bytes), embedding = all['patch_embed.proj.weight'];
  const [begin, end] = embedding.data_offsets, of = (end - begin) / embedding.shape[1], more = of * channels - end;
  assert.equal(begin, 0);
  embedding.shape[1] = channels;
  for (const tensor of Object.values(all))
    tensor.data_offsets = tensor.data_offsets.map((at) => (at === 0 ? 0 : at + more));
  const pipeline = { channels, source_filter: 'nearest', augment: [] }, means = channels > 4 ? 1 : channels;
  Object.assign(pipeline, { mean: Array(means).fill(0.5), variance: Array(means).fill(0.25) });
  metadata.config = JSON.stringify({ ...JSON.parse(metadata.config), in_channels: channels });
  metadata.preprocessing = JSON.stringify({ ...JSON.parse(metadata.preprocessing), ...pipeline });
  return fileOf({ __metadata__: metadata, ...all }, Buffer.alloc(of * channels, 9), tensors().subarray(end));
}

export function read({ file, width, height }) {
  return { data: readFileSync(file), width, height };
}

export function learnable(model) {
  return { ...model.features(native.images.map(read)), labels: native.images.map(({ label }) => label) };
}

export function right(model) {
  return native.images.filter((image) => model.predict(read(image))[0].label === image.label).length;
}

/* Runs tests by their names. Prints a line for each; the program fails if one fails. */
export async function run(tests) {
  for (const [name, test] of Object.entries(tests)) {
    try {
      const note = await test();
      console.log(`ok    ${name}${typeof note === 'string' ? `: ${note}` : ''}`);
    } catch (error) {
      process.exitCode = 1;
      console.log(`FAIL  ${name}: ${error.stack}`);
    }
  }
}
