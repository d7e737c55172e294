/* The types of shiftvit.js: docs/browser.md. */

/* A call of the library that failed. `status` is the name of its code, such as "SVIT_E_FORMAT". */
export class ShiftvitError extends Error {
  readonly status: string;
  constructor(message: string, status: string);
}

/* Pixels row by row: RGBA, as ImageData has them, or the channels of the model. RGBA is blended with
 * black for a model of 3 channels, and becomes the luma for one of 1; models of other channels than
 * 1, 3 and 4 do not take it. */
export interface Pixels {
  readonly data: Uint8Array | Uint8ClampedArray;
  readonly width: number;
  readonly height: number;
}

/* A class of an image. `confidence` is a probability; of a model of numbers, the number. */
export interface Prediction {
  label: number;
  name: string;
  confidence: number;
  logit: number;
}

/* What a layer computes for images: values[images, channels]. */
export interface Features {
  values: Float32Array;
  channels: number;
}

/* Features with a label in 0..classes - 1 for each image. */
export interface Samples {
  values: Float32Array;
  labels: ArrayLike<number> & Iterable<number>;
}

/* Where a model looks: values[height, width], row by row. */
export interface ImageMap {
  kind: 'attention' | 'evidence';
  width: number;
  height: number;
  values: Float32Array;
}

export interface TrainOptions {
  layer?: string; /* the samples are of this layer: "features" */
  trainable?: string[]; /* patterns of the parameters that learn, * for any characters: ["head*"] */
  epochs?: number; /* 100 */
  batch?: number; /* samples in an update: 256, or all if there are fewer */
  learningRate?: number; /* of the first update, from which it falls to 0 as half a cosine: 0.003 */
  weightDecay?: number; /* of AdamW: 5000 divided by the number of samples, at most 10 */
  balanced?: boolean; /* each class counts as much as any other: false */
  seed?: number; /* of the order of the samples: 0 */
  validation?: Samples | null; /* samples that only measure: null */
}

export interface Epoch {
  epoch: number; /* from 1 on */
  epochs: number;
  loss: number; /* the mean over the samples, as they came by */
  accuracy: number; /* likewise, 0..1 */
  validation: number | null; /* the accuracy on the validation's samples after the epoch */
}

/* The fields of svit_head_config and of svit_class_config. */
export interface HeadConfig {
  epochs?: number;
  batch?: number;
  balanced?: boolean;
  learning_rate?: number;
  weight_decay?: number;
  label_smoothing?: number;
  seed?: number;
}
export interface ClassConfig {
  weight_decay?: number;
  new_weight?: number;
  recall?: number;
}

/* A model. It holds memory of the library until `free`. */
export class Model {
  private constructor();
  readonly config: Record<string, unknown>;
  readonly preprocessing: Record<string, unknown>;
  readonly classes: string[];
  readonly layers: string[];
  readonly parameters: string[]; /* their names */
  readonly output: 'softmax' | 'sigmoid' | 'logits'; /* what `predict` makes of logits; "logits": a model of numbers */
  readonly threshold: number; /* the probability below which an image is of none of the classes; 0: there is none */
  predict(image: Pixels): Prediction[];
  logits(images: readonly Pixels[]): Float32Array;
  features(images: readonly Pixels[], layer?: string): Features;
  map(image: Pixels, label: number): ImageMap | null;
  parameter(name: string): { shape: number[]; values: Float32Array };
  replaceHead(names: readonly string[], seed?: number): void;
  fitHead(samples: Samples, config?: HeadConfig): void;
  /* A model whose classes have no names drops `name`. */
  addClass(name: string, values: Float32Array, old?: Float32Array | null, config?: ClassConfig): void;
  train(samples: Samples, options?: TrainOptions): Generator<Epoch, void, void>;
  save(): Uint8Array;
  free(): void;
}

/* The library. */
export class Shiftvit {
  private constructor();
  readonly version: string;
  readonly threads: number;
  readonly memoryBytes: number; /* of WebAssembly, which never become fewer */
  readonly usedBytes: number; /* of these, what models hold */
  describe(): Record<string, unknown>;
  model(bytes: Uint8Array | ArrayBuffer): Model;
  endThreads(): void;
}

export interface LoadOptions {
  threads?: number; /* that compute, 0 for one on each core; one where memory cannot be shared: 1 */
}

/* Loads shiftvit.wasm, or shiftvit-threads.wasm for more threads, which by default lie beside shiftvit.js. */
export function load(source?: URL | string | ArrayBuffer | Uint8Array | WebAssembly.Module | null,
  options?: LoadOptions): Promise<Shiftvit>;
