import type { JSX } from 'preact';
import { ANY_URL_ID, APPS, PROGRAMS } from '../connect/places.ts';
import { hrefOf } from '../router.ts';

const WAYS = [
  {
    item: ANY_URL_ID,
    title: 'Paste a URL',
    text: 'Of Zapier, Make, n8n, a chat or your own. Each new lead is sent to it at once.',
    button: 'Connect a URL',
  },
  {
    item: APPS,
    title: 'An app of a platform',
    text: 'Your platform asks for new leads every few minutes, with an app or a request.',
    button: 'Choose a platform',
  },
  {
    item: PROGRAMS,
    title: 'A program',
    text: 'You write code. One request returns the new leads.',
    button: 'See the code',
  },
] as const;

/** For a user without an automation. */
export const WaysToConnect = (): JSX.Element => (
  <ul class="ways" aria-label="Ways to connect">
    {WAYS.map(({ item, title, text, button }, index) => (
      <li key={item}>
        <h2>{title}</h2>
        <p>{text}</p>
        <a class={index === 0 ? 'button primary' : 'button'} href={hrefOf('connect', item)}>
          {button}
        </a>
      </li>
    ))}
  </ul>
);
