/* Starts the page. The last of its scripts: ask.js, recognise.js and teach.js come before. */
'use strict';

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
