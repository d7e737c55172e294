/* Starts the page. The last of its scripts: ask.js, recognise.js and teach.js come before. */
'use strict';

/* A file that is dropped beside the places for it would open instead of the page, and what is taught would be lost. */
function refuseFiles(event) {
  if (event.defaultPrevented || !event.dataTransfer.types.includes('Files')) return;
  event.preventDefault();
  event.dataTransfer.dropEffect = 'none';
}
document.ondragover = document.ondrop = refuseFiles;

async function start() {
  addClass();
  addClass();
  const wasm = embeddedBytes('shiftvit.wasm'), model = embeddedBytes('cifar10.safetensors');
  const threads = Number(new URLSearchParams(location.search).get('threads')); /* 0: one for each core */
  try {
    const answer = await ask('start', { wasm, model, threads });
    showModel(answer.model);
    element('version').textContent = `shiftvit ${answer.version}, on ${answer.threads === 1 ? 'one thread' : `${answer.threads} threads`}.`;
    isReady = true;
    document.documentElement.dataset.ready = 'yes';
    say(recognised, '');
    updateLearning();
  } catch (error) {
    say(recognised, `The model cannot be loaded: ${error.message}`, true);
  }
}
start();
