// Refreshes /status: loads the page again and copies the differences, so that nodes, scroll position, selection and focus stay. Adds local
// times, and the values of the plots at the pointer.
const REFRESH_MS = 5000;
const TIMEOUT_MS = 10_000;

/** As a document, not as text: Trusted Types then need no policy. */
function loadPage() {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('GET', location.href);
    request.responseType = 'document';
    request.timeout = TIMEOUT_MS;
    request.onload = () => {
      if (request.status === 200 && request.response) resolve(request.response);
      else reject(new Error(`status ${request.status}`));
    };
    request.onerror = () => reject(new Error('no connection'));
    request.ontimeout = () => reject(new Error('no answer'));
    request.send();
  });
}

const keyOf = (node) => node.dataset?.key;

function patch(current, fresh) {
  if (current.nodeType !== Node.ELEMENT_NODE) {
    if (current.data !== fresh.data) current.data = fresh.data;
    return;
  }
  // The reader has opened it.
  for (const { name } of [...current.attributes])
    if (!fresh.hasAttribute(name) && name !== 'open') current.removeAttribute(name);
  for (const { name, value } of fresh.attributes)
    if (current.getAttribute(name) !== value) current.setAttribute(name, value);
  patchChildren(current, fresh);
}

/** Children with a key are matched by it, others by their place. */
function patchChildren(current, fresh) {
  const keys = new Set([...fresh.children].map(keyOf));
  const keyed = new Map();
  for (const child of [...current.children]) {
    const key = keyOf(child);
    if (key !== undefined && !keys.has(key)) child.remove();
    else if (key !== undefined) keyed.set(key, child);
  }
  let place = current.firstChild;
  for (const child of fresh.childNodes) {
    const key = keyOf(child);
    const isSameKind = place !== null && keyOf(place) === undefined && place.nodeName === child.nodeName;
    const match = key === undefined ? isSameKind && place : keyed.get(key);
    if (match) {
      if (match !== place) current.insertBefore(match, place);
      patch(match, child);
      place = match.nextSibling;
    } else {
      current.insertBefore(document.importNode(child, true), place);
    }
  }
  while (place !== null) {
    const next = place.nextSibling;
    place.remove();
    place = next;
  }
}

/** Replaces what the page says of the state: the figures below are old. The next answer restores it. */
function showNoAnswer() {
  const time = document.querySelector('.refreshed time').textContent;
  const sentence = document.createElement('p');
  sentence.textContent = `This instance does not answer. The figures are of ${time}. Trying again every ${REFRESH_MS / 1000} seconds.`;
  const summary = document.querySelector('.summary');
  if (summary.textContent === sentence.textContent) return;
  const finding = document.createElement('div');
  finding.className = 'finding error';
  finding.append(sentence);
  summary.replaceChildren(finding);
  document.title = 'No answer: Leadtap status';
}

const pad = (number) => String(number).padStart(2, '0');
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** `2 Mar 09:31` in UTC. */
function utcText(date) {
  const day = `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]}`;
  return `${day} ${pad(date.getUTCHours())}:${pad(date.getUTCMinutes())}`;
}

const zoneFormat = new Intl.DateTimeFormat('en-GB', { timeZoneName: 'short' });
const zoneOf = (date) => zoneFormat.formatToParts(date).find(({ type }) => type === 'timeZoneName').value;

/** `10:31 GMT+1`, with the day if it is another one than in UTC. Undefined where the local time is UTC. */
function localText(date, { hasSeconds = false, hasDay = date.getDate() !== date.getUTCDate() } = {}) {
  if (date.getTimezoneOffset() === 0) return undefined;
  const day = hasDay ? `${date.getDate()} ${MONTHS[date.getMonth()]} ` : '';
  const seconds = hasSeconds ? `:${pad(date.getSeconds())}` : '';
  return `${day}${pad(date.getHours())}:${pad(date.getMinutes())}${seconds}`;
}

const dateOf = (time) => new Date(time.dateTime);

/** What the server cannot know or a page without JavaScript does not need. The loaded page gets the same before it is compared. */
function enhance(page) {
  for (const time of page.querySelectorAll('time.exact')) {
    const local = localText(dateOf(time), { hasSeconds: true });
    if (local === undefined) continue;
    const text = page.createElement('span');
    text.className = 'local';
    text.textContent = `(${local} ${zoneOf(dateOf(time))})`;
    time.append(' ', text);
  }
  for (const time of page.querySelectorAll('time[title]:not(.exact)')) {
    const local = localText(dateOf(time), { hasSeconds: true });
    if (local !== undefined) time.title += ` (${local} ${zoneOf(dateOf(time))})`;
  }
  for (const axis of page.querySelectorAll('.axis')) addLocalAxis(axis);
  for (const plot of page.querySelectorAll('[data-values]')) {
    if (plot.closest('figure')) makeReadable(plot);
    // The title of the browser would cover the values.
    else plot.querySelector('title').remove();
  }
}

function addLocalAxis(axis) {
  const local = axis.cloneNode(true);
  const times = [...local.querySelectorAll('time')];
  const hasDay = times[0].textContent.includes(' ');
  const texts = times.map((time) => localText(dateOf(time), { hasDay }));
  if (texts.includes(undefined)) return;
  times.forEach((time, index) => {
    time.textContent = texts[index];
  });
  times[0].nextSibling.data = ` ${zoneOf(dateOf(times[0]))}`;
  local.lastChild.className = 'invisible';
  axis.after(local);
}

const stepsOf = ({ dataset }) => dataset.values.split('|')[0].split(',').length;
const keyOfPlot = (plot) => plot.closest('figure')?.dataset.key;

/** What the plot that has the focus shows, and where. */
let chosen;
/** What the tooltip shows. */
let pointed;

/** By the keyboard: a slider over the steps of time, whose value is read aloud. */
function makeReadable(plot) {
  const last = stepsOf(plot) - 1;
  const isChosen = chosen && chosen.key === keyOfPlot(plot);
  const step = isChosen ? Math.min(last, Math.max(0, stepOf(plot, chosen.at))) : last;
  const state = {
    role: 'slider',
    tabindex: 0,
    'aria-valuemin': 0,
    'aria-valuemax': last,
    'aria-valuenow': step,
  };
  for (const [name, value] of Object.entries(state)) plot.setAttribute(name, value);
  plot.setAttribute('aria-valuetext', readingOf(plot, step));
}

const stepOf = ({ dataset }, at) => Math.round((at - Number(dataset.from)) / Number(dataset.step));
const timeOf = ({ dataset }, step) => Number(dataset.from) + step * Number(dataset.step);

/** `2 Mar 09:31 UTC (10:31 GMT+1): 3 leads` */
function readingOf(plot, step) {
  const { names, values, unit } = plot.dataset;
  const numbers = values.split('|').map((series) => series.split(',')[step]);
  const date = new Date(timeOf(plot, step));
  const local = localText(date);
  const time = `${utcText(date)} UTC${local === undefined ? '' : ` (${local} ${zoneOf(date)})`}`;
  const textOf = (number, index) => {
    if (number === '') return 'nothing known';
    if (numbers.length > 1) return `${names.split('|')[index]}: ${number}`;
    return unit === '' ? `${number} ${names}` : `${number}${unit}`;
  };
  return `${time}: ${[...new Set(numbers.map(textOf))].join(', ')}`;
}

const reading = document.createElement('p');
reading.className = 'reading';
reading.hidden = true;
// The slider says the same.
reading.ariaHidden = 'true';
document.body.append(reading);

/** Above the step. The line goes down through the plot. */
function showReading(plot, at) {
  const step = stepOf(plot, at);
  if (!plot.isConnected || step < 0 || step >= stepsOf(plot)) return hideReading();
  pointed = { plot, at };
  reading.textContent = readingOf(plot, step);
  reading.hidden = false;
  const box = plot.getBoundingClientRect();
  const x = box.left + ((step + 0.5) / stepsOf(plot)) * box.width;
  const width = reading.offsetWidth;
  const left = Math.max(4, Math.min(x - width / 2, document.documentElement.clientWidth - width - 4));
  reading.style.left = `${left + scrollX}px`;
  reading.style.top = `${box.top + scrollY - reading.offsetHeight - 6}px`;
  reading.style.setProperty('--line-x', `${x - left}px`);
  reading.style.setProperty('--line-height', `${box.height + 6}px`);
}

function hideReading() {
  pointed = undefined;
  reading.hidden = true;
}

/** What the keyboard has chosen stays when the pointer leaves another plot. */
function showChosen() {
  if (chosen) showReading(document.activeElement, chosen.at);
  else hideReading();
}

function point({ target, clientX }) {
  const plot = target.closest?.('[data-values]');
  if (!plot) return showChosen();
  const { left, width } = plot.getBoundingClientRect();
  const step = Math.floor(((clientX - left) / width) * stepsOf(plot));
  showReading(plot, timeOf(plot, Math.max(0, Math.min(step, stepsOf(plot) - 1))));
}

function choose(plot, step) {
  chosen = { key: keyOfPlot(plot), at: timeOf(plot, Math.max(0, Math.min(step, stepsOf(plot) - 1))) };
  makeReadable(plot);
  showReading(plot, chosen.at);
}

const MOVES = {
  ArrowLeft: (step) => step - 1,
  ArrowDown: (step) => step - 1,
  ArrowRight: (step) => step + 1,
  ArrowUp: (step) => step + 1,
  PageDown: (step) => step - 10,
  PageUp: (step) => step + 10,
  Home: () => 0,
  End: () => Number.MAX_SAFE_INTEGER,
};

document.addEventListener('pointermove', point);
document.addEventListener('pointerdown', point);
document.documentElement.addEventListener('pointerleave', showChosen);
document.addEventListener('focusin', ({ target }) => {
  if (target.matches('[role="slider"]')) choose(target, Number(target.getAttribute('aria-valuenow')));
});
document.addEventListener('focusout', () => {
  chosen = undefined;
  hideReading();
});
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') {
    chosen = undefined;
    hideReading();
  }
  const move = event.target.matches('[role="slider"]') ? MOVES[event.key] : undefined;
  if (!move || event.ctrlKey || event.altKey || event.metaKey) return;
  event.preventDefault();
  choose(event.target, move(Number(event.target.getAttribute('aria-valuenow'))));
});

let isLoading = false;

async function refresh() {
  if (isLoading) return;
  isLoading = true;
  try {
    const fresh = await loadPage();
    enhance(fresh);
    for (const part of ['main', '.refreshed time'])
      patch(document.querySelector(part), fresh.querySelector(part));
    document.title = fresh.title;
    if (pointed) showReading(pointed.plot, pointed.at);
  } catch {
    showNoAnswer();
  } finally {
    isLoading = false;
  }
}

enhance(document);
// Also in a tab in the background, whose title has the number of problems. Browsers then run timers once a minute.
setInterval(refresh, REFRESH_MS);
document.addEventListener('visibilitychange', refresh);
