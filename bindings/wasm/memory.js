/* WebAssembly's memory as JavaScript sees it: texts, arrays and configurations go in and come out, and calls that
 * fail throw what the library says. A part of shiftvit.js. */

/* In the order of STRUCT_BYTES in module.c. */
const STRUCTS = ['error', 'model', 'pipeline', 'session', 'optimizer', 'head', 'class', 'context'];

/* A text as C reads it. */
function encoded(text) {
  let wrong = null;
  if (typeof text !== 'string') wrong = `of the type ${typeof text}`;
  else if (text.includes('\0')) wrong = 'a string with a NUL character';
  else if (/\p{Surrogate}/u.test(text)) wrong = 'a string with half of a surrogate pair';
  if (wrong) throw new TypeError(`a name is ${wrong}; it is a string without NUL characters and lone surrogates`);
  return new TextEncoder().encode(`${text}\0`);
}

/* A call of the library that failed: its message, and the name of its status. */
export class ShiftvitError extends Error {
  constructor(message, status) {
    super(message);
    this.name = 'ShiftvitError';
    this.status = status;
  }
}

/* What WebAssembly takes from outside: `shared`, its memory, if that is shared, and functions. The clock is one; what would use files, which the
 * library never does here, fails as an unknown system call does. */
export function importsOf(module, shared, memory) {
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
  for (const { module: from, name, kind } of WebAssembly.Module.imports(module)) {
    imports[from] ??= {};
    imports[from][name] = kind === 'memory' ? shared
      : known[name] ?? (() => (name.startsWith('__syscall') ? -NO_SUCH_CALL : NO_SUCH_CALL));
  }
  return imports;
}

/* Memory of WebAssembly, and calls with errors. Views are made for each access, because memory that
 * grows leaves old ones empty. */
export class Memory {
  constructor(exports, memory) {
    this.exports = exports;
    this.memory = memory;
    this.sizes = Object.fromEntries(STRUCTS.map((name, i) => [name, exports.module_struct_bytes(i)]));
    this.error = this.allocate(this.sizes.error);
    this.out = this.allocate(8);
  }

  get u8() { return new Uint8Array(this.memory.buffer); }
  get i32() { return new Int32Array(this.memory.buffer); }
  get u32() { return new Uint32Array(this.memory.buffer); }
  get f32() { return new Float32Array(this.memory.buffer); }

  allocate(bytes) {
    /* Of more bytes than a number of 32 bits counts, malloc would see the low bits alone. */
    const at = bytes < 2 ** 32 ? this.exports.malloc(Math.max(bytes, 1)) : 0;
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
    return new TextDecoder().decode(bytes.slice(at, end)); /* a copy, since shared memory is not decoded */
  }

  borrowBytes(data, use) {
    return this.borrow(data.length, (at) => {
      this.u8.set(data, at);
      return use(at);
    });
  }

  borrowText(text, use) {
    return this.borrowBytes(encoded(text), use);
  }

  borrowFloats(values, use) {
    return this.borrow(4 * values.length, (at) => {
      this.f32.set(values, at / 4);
      return use(at);
    });
  }

  /* An array of texts, as the library takes names. */
  borrowTexts(texts, use) {
    if (!Array.isArray(texts)) throw new TypeError('the names are no array; an array of strings is needed');
    const all = Array.from(texts, encoded), bytes = all.reduce((sum, text) => sum + text.length, 0);
    return this.borrow(4 * texts.length + bytes, (at) => {
      let next = at + 4 * texts.length;
      all.forEach((text, i) => {
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
    if (this.exports.module_failed?.()) /* of the build with threads */
      throw new ShiftvitError(`a thread has failed in ${name}, whose results are lost`, 'SVIT_E_STATE');
    if (status !== 0) throw new ShiftvitError(this.text(this.error + 8), this.text(this.exports.svit_status_name(status)));
  }

  /* Calls a function that writes a handle or a size to its first argument, and returns that. */
  create(name, ...values) {
    this.call(name, this.out, ...values);
    return this.u32[this.out / 4];
  }

  /* Calls a function that writes a text or bytes of unknown length: (..., buffer, capacity, needed). */
  written(name, ...values) {
    this.u32[this.out / 4] = 0; /* a call that fails for another reason writes no length; the second one throws it */
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
    if (fields === null || typeof fields !== 'object' || Array.isArray(fields))
      throw new TypeError('the configuration is no object of its fields');
    return this.borrow(this.sizes[type], (at) =>
      this.borrowText(JSON.stringify(fields), (text) => {
        this.call(`svit_${type}_config_from_json`, at, this.sizes[type], text);
        return use(at);
      }));
  }
}
