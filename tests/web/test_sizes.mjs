/* Compares the sizes that docs/browser.md says with those of the built files: test_sizes.mjs WASM_BUILD DOCS.
 * A row of the page's table of sizes has names of files, the sum of their bytes, and that with gzip -9 and with
 * brotli. Prints a row as it should be for each that is wrong by more than TOLERANCE. */
import { readFileSync } from 'node:fs';
import { brotliCompressSync, gzipSync } from 'node:zlib';

const TOLERANCE = 0.02, MOST_WASM = 400 * 1024;
const [folder, docs] = process.argv.slice(2);
const page = readFileSync(docs, 'utf8');
const rows = page.split('\n').filter((line) => /^\| *(`[\w.-]+`,? *)+\|/.test(line) && /\d,\d{3}/.test(line));
let failed = 0;

function fail(text) {
  failed += 1;
  console.log(`FAIL  ${text}`);
}

function fileAt(name) {
  return readFileSync(name.endsWith('.html') ? `${folder}/${name}` : `${folder}/web/${name}`);
}

for (const row of rows) {
  const [, files, ...cells] = row.split('|').map((cell) => cell.trim());
  const names = files.match(/[\w.-]+/g), bytes = Buffer.concat(names.map(fileAt));
  const built = [bytes.length, gzipSync(bytes, { level: 9 }).length, brotliCompressSync(bytes).length];
  const said = cells.slice(0, 3).map((cell) => Number(cell.replaceAll(',', '')));
  if (names[0].endsWith('.wasm') && built[0] > MOST_WASM) fail(`${names[0]} has ${built[0]} bytes, more than ${MOST_WASM}`);
  if (said.some((value, i) => !(Math.abs(value - built[i]) <= TOLERANCE * built[i])))
    fail(`${docs} says ${said.join(', ')}; it is: | ${files} | ${built.map((value) => value.toLocaleString('en')).join(' | ')} |`);
}
if (rows.length < 4) fail(`${docs} has ${rows.length} rows of sizes`);
if (!failed) console.log(`ok    the sizes of ${rows.length} rows of the page`);
process.exitCode = failed ? 1 : 0;
