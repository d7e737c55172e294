/* Tests of the threads of shiftvit.js in Node: test_threads.mjs WEB_FOLDER NATIVE.json. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { bytes, folder, load, native, read, run } from './support.mjs';

const tests = {
  async 'ends the threads that have started where another does not'() {
    const workers = createRequire(import.meta.url)('node:worker_threads'), { Worker } = workers;
    let started = 0, ended = 0;
    workers.Worker = class extends Worker {
      constructor(...rest) {
        started += 1;
        if (started === 2) throw new Error('no more threads');
        super(...rest);
      }

      terminate() {
        ended += 1;
        return super.terminate();
      }
    };
    syncBuiltinESMExports();
    try {
      await assert.rejects(load(null, { threads: 4 }), /no more threads/);
      assert.deepEqual([started, ended], [3, 2]);
    } finally {
      workers.Worker = Worker;
      syncBuiltinESMExports();
    }
  },

  async 'computes the same bits on any number of threads'() {
    const images = native.images.map(read), results = [];
    for (const [source, wanted] of [[null, 1], ['shiftvit-threads.wasm', 1], [null, 2], [null, 3], [null, 7]]) {
      const library = await load(source, { threads: wanted }), model = library.model(bytes);
      assert.equal(library.threads, wanted);
      assert.equal(library.describe().threads, wanted);
      const logits = model.logits(images);
      model.replaceHead(['discs', 'stripes']);
      const samples = { ...model.features(images, 'layers.1.blocks.5'), labels: native.images.map(({ label }) => label) };
      const options = { layer: 'layers.1.blocks.5', trainable: ['layers.2.*', 'head*'], epochs: 2, batch: 7 };
      const losses = [...model.train(samples, options)];
      library.endThreads();
      results.push([logits, losses, model.logits(images), model.save()]);
      assert.deepEqual(results.at(-1), results[0], `${wanted} threads`);
    }
    await assert.rejects(load(null, { threads: -1 }), /threads is -1/);
    const one = await load(readFileSync(`${folder}/shiftvit.wasm`), { threads: 4 });
    assert.equal(one.threads, 1);
    const many = await load(null, { threads: 0 });
    assert.equal(many.threads, cpus().length);
    many.endThreads();
    return `${results.length} builds and numbers of threads`;
  },

  async 'frees the stacks of threads that end'() {
    const STACK_BYTES = 2 ** 18, library = await load(null, { threads: 4 }), model = library.model(bytes);
    const images = native.images.map(read), logits = model.logits(images), { usedBytes } = library;
    library.endThreads();
    const freed = usedBytes - library.usedBytes;
    assert.ok(freed >= 3 * STACK_BYTES && freed < 4 * STACK_BYTES, `${freed}`);
    for (let i = 0; i < 20; i++) assert.deepEqual(model.logits(images), logits);
    library.endThreads();
    model.free();
  },

  'throws where a task of a thread traps, and goes on'() {
    /* In a process of its own, which may wait for ever. */
    const program = fileURLToPath(new URL('trap.mjs', import.meta.url));
    const { stdout, error } = spawnSync(process.execPath, [program, folder], { timeout: 60000, encoding: 'utf8' });
    assert.equal(error, undefined);
    const [first, second, isAsAlone] = JSON.parse(stdout);
    for (const { name, status, message } of [first, second]) {
      assert.deepEqual([name, status], ['ShiftvitError', 'SVIT_E_STATE']);
      assert.match(message, /^a thread has failed in svit_\w+, whose results are lost$/);
    }
    assert.ok(isAsAlone);
  },
};

await run(tests);
