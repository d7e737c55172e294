/* Threads: workers of JavaScript with instances of the module in one shared memory (threads.c). A part of shiftvit.js. */

const PAGE_BYTES = 2 ** 16;
const INITIAL_BYTES = 2 ** 24, MAXIMUM_BYTES = 2 ** 30; /* as bindings/wasm/meson.build says them to the linker */
const STACK_BYTES = 2 ** 18;
const isNode = typeof process === 'object';

/* Whether memory can be shared here, and a thread can wait for others, which that of a window cannot. */
const canShare = () =>
  typeof SharedArrayBuffer === 'function' && (isNode || (self.crossOriginIsolated && typeof window === 'undefined'));

async function cores() {
  return isNode ? (await import('node:os')).cpus().length : navigator.hardwareConcurrency;
}

/* How many threads there are where `wanted` are wished; 0 is one for each core. */
export async function threadsFor(wanted) {
  if (!Number.isInteger(wanted) || wanted < 0) throw new RangeError(`threads is ${wanted}; it is 0 or more`);
  return canShare() ? Math.min(wanted || await cores(), 64) : 1;
}

export function sharedMemory() {
  return new WebAssembly.Memory({ initial: INITIAL_BYTES / PAGE_BYTES, maximum: MAXIMUM_BYTES / PAGE_BYTES, shared: true });
}

/* What a worker runs: the text of this function is its script. */
function work(receive, send) {
  receive(({ module, memory, stack }) => {
    const imports = {};
    for (const { module: from, name, kind } of WebAssembly.Module.imports(module)) {
      imports[from] ??= {};
      imports[from][name] = kind === 'memory' ? memory : () => { throw new Error(`${name} is not for threads`); };
    }
    const { exports } = new WebAssembly.Instance(module, imports);
    exports.__stack_pointer.value = stack;
    send('ready');
    exports.module_work();
  });
}

/* Starts a worker that waits for tasks. */
async function startWorker(message) {
  if (isNode) {
    const { Worker } = await import('node:worker_threads');
    const worker = new Worker(`const { parentPort } = require('node:worker_threads');
      (${work})((use) => parentPort.once('message', use), (answer) => parentPort.postMessage(answer));`, { eval: true });
    worker.postMessage(message);
    await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
    worker.unref();
    return worker;
  }
  const url = URL.createObjectURL(new Blob([
    `(${work})((use) => { onmessage = ({ data }) => use(data); }, (answer) => postMessage(answer));`,
  ], { type: 'text/javascript' }));
  const worker = new Worker(url);
  worker.postMessage(message);
  await new Promise((resolve, reject) => {
    worker.onmessage = resolve;
    worker.onerror = ({ message: text }) => reject(new Error(`a thread does not start: ${text}`));
  });
  URL.revokeObjectURL(url);
  return worker;
}

/* Starts `count` workers of the library's first instance. */
export function startWorkers(module, memory, exports, count) {
  return Promise.all(Array.from({ length: count }, () => {
    const stack = exports.malloc(STACK_BYTES);
    if (stack === 0) throw new Error('the stack of a thread could not be allocated');
    return startWorker({ module, memory, stack: stack + STACK_BYTES });
  }));
}
