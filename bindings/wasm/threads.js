/* Threads: workers of JavaScript with instances of the module in one shared memory (threads.c). A part of shiftvit.js. */

const PAGE_BYTES = 2 ** 16;
const INITIAL_BYTES = 2 ** 24, MAXIMUM_BYTES = 2 ** 30; /* as bindings/wasm/meson.build says them to the linker */
const STACK_BYTES = 2 ** 18;
/* Pages may have a `process`, too, which a bundler has put there. */
export const isNode = typeof process === 'object' && typeof process.versions?.node === 'string';

/* A module of Node. Its name is no literal, so that bundlers do not look for it when they build for pages. */
export const nodeModule = (name) => import(/* webpackIgnore: true */ /* @vite-ignore */ `node:${name}`);

/* Whether memory can be shared here, and a thread can wait for others, which that of a window cannot. */
const canShare = () =>
  typeof SharedArrayBuffer === 'function' && (isNode || (self.crossOriginIsolated && typeof window === 'undefined'));

async function cores() {
  return isNode ? (await nodeModule('os')).cpus().length : navigator.hardwareConcurrency;
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
    send('ready');
    for (let seen = 0;;) {
      exports.__stack_pointer.value = stack;
      try {
        exports.module_work(seen);
      } catch { /* a trap in a task, for which the first instance would wait for ever */
        seen = exports.module_fail();
      }
    }
  });
}

/* Starts a worker that waits for tasks. */
async function startWorker(message) {
  if (isNode) {
    const { Worker } = await nodeModule('worker_threads');
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
  let worker = null;
  try {
    worker = new Worker(url);
    worker.postMessage(message);
    await new Promise((resolve, reject) => {
      worker.onmessage = resolve;
      worker.onerror = ({ message: text }) =>
        reject(new Error(`a thread does not start: ${text || 'the page has to allow workers from blob:'}`));
    });
    return worker;
  } catch (error) {
    worker?.terminate();
    throw error;
  } finally {
    URL.revokeObjectURL(url);
  }
}

/* Ends workers that have no task, and frees their stacks. */
export function endWorkers(workers, exports) {
  for (const { worker, stack } of workers) {
    worker.terminate();
    exports.free(stack);
  }
}

/* Starts `count` workers of the library's first instance, or none: [{ worker, stack }]. */
export async function startWorkers(module, memory, exports, count) {
  const started = await Promise.allSettled(Array.from({ length: count }, async () => {
    const stack = exports.malloc(STACK_BYTES);
    if (stack === 0) throw new Error('the stack of a thread could not be allocated');
    return { worker: await startWorker({ module, memory, stack: stack + STACK_BYTES }), stack };
  }));
  const failure = started.find(({ status }) => status === 'rejected');
  if (!failure) return started.map(({ value }) => value);
  endWorkers(started.filter(({ status }) => status === 'fulfilled').map(({ value }) => value), exports);
  throw failure.reason;
}
