import { tiles } from 'virtual:platforms';
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { hrefOf, place } from '../router.ts';
import { baseUrl } from '../service.ts';
import { session } from '../session.ts';
import { CopyButton, formatCount, shellWord } from '../text.tsx';
import { TokenForm } from '../token-form.tsx';
import { FirstPoll } from './first-poll.tsx';
import { guides, hasFailed, loadGuides } from './guides.ts';
import { HookForm } from './hook-form.tsx';
import { askForHooks, hasHooks } from './hooks.ts';
import { ANY_URL_ID, APPS, PROGRAMS } from './places.ts';
import type { Platform, Step } from './platforms.ts';
import { RichText } from './rich-text.tsx';
import { Snippet } from './snippet.tsx';

type Tile = (typeof tiles)[number];

const ANY_URL: Tile = {
  id: ANY_URL_ID,
  name: 'Any URL',
  summary: 'Paste an address, and each new lead is sent to it',
  runs: 'anywhere',
};
const ALL: readonly Tile[] = [ANY_URL, ...tiles];

/** A tile for each platform; then its steps, with the address of this service. */
export function Connect(): JSX.Element {
  useEffect(() => {
    void askForHooks();
    void loadGuides();
  }, []);
  const tile = ALL.find(({ id }) => id === place.value.item);
  return <div class="connect">{tile ? <Guide key={tile.id} tile={tile} /> : <Tiles />}</div>;
}

/** By the place in the address, or both. */
const KINDS = [
  { place: APPS, title: 'Automation platforms', isProgram: false },
  { place: PROGRAMS, title: 'Your own program', isProgram: true },
] as const;

function Tiles(): JSX.Element {
  const { item } = place.value;
  const kinds = KINDS.filter((kind) => kind.place === item);
  return (
    <>
      <h1>Connect a platform</h1>
      <p class="lede">Paste the address of a webhook, or choose your platform for its steps.</p>
      {(kinds.length > 0 ? kinds : KINDS).map(({ title, isProgram }) => (
        <TileList
          key={title}
          title={title}
          shown={ALL.filter(({ runs }) => (runs === 'on your machine') === isProgram)}
        />
      ))}
      {kinds.length > 0 && (
        <p>
          <a href={hrefOf('connect')}>All ways to connect</a>
        </p>
      )}
    </>
  );
}

const TileList = ({ title, shown }: { readonly title: string; readonly shown: readonly Tile[] }) => (
  <section aria-label={title}>
    <h2 class="tiles-title">{title}</h2>
    <ul class="tiles">
      {shown.map((tile) => (
        <li key={tile.id}>
          <a href={hrefOf('connect', tile.id)}>
            <Mark tile={tile} />
            <span>
              <strong>{tile.name}</strong>
              <span>{tile.summary}</span>
            </span>
          </a>
        </li>
      ))}
    </ul>
  </section>
);

/** Two letters of the name in a colour of our own: logos belong to their owners. */
const Mark = ({ tile: { id, name } }: { readonly tile: Tile }) => (
  <span
    class="mark"
    aria-hidden="true"
    style={{ '--hue': (ALL.findIndex((tile) => tile.id === id) * 360) / ALL.length }}
  >
    {name.slice(0, 2)}
  </span>
);

/**
 * The two things that every platform asks for. Not the token of this page: with a token of its own a platform can be told apart,
 * and its token can be revoked without the others.
 */
function Needs({ name }: { readonly name: string }): JSX.Element {
  const command = issueCommand(session.value?.claims.userId, name);
  return (
    <dl class="needs">
      <div>
        <dt>Base address</dt>
        <dd>
          <code>{baseUrl}</code> <CopyButton text={() => baseUrl}>Copy address</CopyButton>
        </dd>
      </div>
      <div>
        <dt>Access token</dt>
        <dd>
          A new one, only for {name}; not the one that you pasted here. Ask the operator, the person who runs
          this service, to make it with this command:
        </dd>
        <dd>
          <Snippet code={command}>Copy command</Snippet>
        </dd>
      </div>
    </dl>
  );
}

const issueCommand = (userId = 'ID', name: string): string =>
  `npx leadtap token issue --user ${shellWord(userId)} --name "${name}"`;

function Guide({ tile }: { readonly tile: Tile }): JSX.Element {
  const { id, name } = tile;
  // Steps that change while the visitor reads them would be worse than a moment without them.
  const all = hasHooks.value === undefined ? undefined : guides.value;
  const guide = all?.[hasHooks.value ? 'withHooks' : 'withoutHooks'].find((platform) => platform.id === id);
  return (
    <>
      <p class="up">
        <a href={hrefOf('connect')}>← All platforms</a>
      </p>
      <h1>
        <Mark tile={tile} /> {name}
      </h1>
      {id === ANY_URL.id && <AnyUrl />}
      {session.value ? (
        <FirstPoll name={name} noPollText={noPollText(name, guide)} isPrimary={id !== ANY_URL.id} />
      ) : (
        <WithoutToken name={name} />
      )}
      {guide && <PlatformSteps tile={tile} guide={guide} />}
      {hasFailed.value && (
        <p class="note" role="alert">
          The steps could not be loaded.{' '}
          <button type="button" onClick={loadGuides}>
            Try again
          </button>
        </p>
      )}
    </>
  );
}

function noPollText(name: string, guide: Platform | undefined): string {
  if (name === ANY_URL.name) return 'Paste an address, then send a test lead and see it arrive.';
  const token = `the first poll with a token named “${name}”`;
  return `Waiting for ${guide?.webhook ? `the address that you paste below, or for ${token}` : token}…`;
}

const AnyUrl = () =>
  hasHooks.value === false ? (
    <p class="note">
      This service sends no webhooks. Ask the operator to remove <code>LEADTAP_HOOKS=off</code>, or choose a
      platform that polls.
    </p>
  ) : (
    session.value && <HookForm name={ANY_URL.name} label="Address that gets the leads" isPrimary />
  );

interface PlatformStepsProps {
  readonly tile: Tile;
  readonly guide: Platform;
}

/** Without an app first: it needs no installation. */
function PlatformSteps({ tile, guide }: PlatformStepsProps): JSX.Element {
  const { name } = tile;
  const { webhook } = guide;
  if (!webhook) return <AppSteps tile={tile} guide={guide} />;
  return (
    <>
      <section>
        <h2>Without an app</h2>
        <StepList steps={webhook.before} />
        <ol class="steps" start={webhook.before.length + 1}>
          <li>
            <p>
              Paste it here, and choose <b>Connect</b>.
              {!session.value && ' For that, this page needs a token: see above.'}
            </p>
            {session.value && <HookForm name={name} label={webhook.label} />}
          </li>
        </ol>
        <StepList steps={webhook.after} start={webhook.before.length + 2} />
      </section>
      <details class="app">
        <summary>With the app</summary>
        <p>{webhook.app}</p>
        <AppSteps tile={tile} guide={guide} />
      </details>
    </>
  );
}

function AppSteps({ tile, guide }: PlatformStepsProps): JSX.Element {
  const { setup, ways, notes } = guide;
  const chosen = useSignal(0);
  const way = ways[chosen.value] ?? ways[0];
  return (
    <>
      <AddressWarning tile={tile} />
      <Needs name={tile.name} />
      {setup.length > 0 && (
        <details class="setup">
          <summary>Once for everybody: install it ({formatCount(setup.length, 'step')})</summary>
          <StepList steps={setup} />
        </details>
      )}
      {ways.length > 1 && (
        <div class="choice" role="radiogroup" aria-label="When leads arrive">
          {ways.map(({ title }, index) => (
            <label key={title}>
              <input
                type="radio"
                name="way"
                checked={way.title === title}
                onChange={() => {
                  chosen.value = index;
                }}
              />
              {title}
            </label>
          ))}
        </div>
      )}
      <StepList steps={way.steps} />
      <h2>What you should see</h2>
      <p>
        <RichText>{way.result}</RichText>
      </p>
      <h2>Good to know</h2>
      <ul class="notes">
        {notes.map((note) => (
          <li key={note}>
            <RichText>{note}</RichText>
          </li>
        ))}
      </ul>
    </>
  );
}

interface StepListProps {
  readonly steps: readonly Step[];
  /** The number of the first one. */
  readonly start?: number;
}

const StepList = ({ steps, start = 1 }: StepListProps) => (
  <ol class="steps" start={start}>
    {steps.map((step) => (
      <li key={step.text}>
        <StepText step={step} />
      </li>
    ))}
  </ol>
);

const StepText = ({ step: { text, code } }: { readonly step: Step }) => (
  <>
    <p>
      <RichText>{text}</RichText>
    </p>
    {code !== undefined && <Snippet code={code} />}
  </>
);

const WithoutToken = ({ name }: { readonly name: string }) => (
  <>
    <p>With a token, this page shows when {name} gets its first lead.</p>
    <TokenForm />
  </>
);

const PRIVATE_HOST =
  /^(localhost|127\.|10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|169\.254\.|\[(::1|f[cd]|fe80))|\.(local|internal|lan|home\.arpa)$/i;

/** Says why this address will not work, or not safely, before the visitor tries it. */
function AddressWarning({ tile: { name, runs } }: { readonly tile: Tile }): JSX.Element | null {
  const { hostname, protocol } = new URL(baseUrl);
  const isPrivate = PRIVATE_HOST.test(hostname);
  if (isPrivate && runs === 'cloud')
    return (
      <p class="note">
        {name} runs in the cloud and cannot reach <code>{baseUrl}</code>, an address of this machine or
        network. Ask the operator for the public address.
      </p>
    );
  if (isPrivate && runs === 'anywhere')
    return (
      <p class="note">
        {name} must run on this machine or network to reach <code>{baseUrl}</code>. In a container,{' '}
        <code>localhost</code> is the container itself.
      </p>
    );
  if (!isPrivate && protocol === 'http:')
    return (
      <p class="note">
        This address is not encrypted: everyone on the way can read the token. Ask the operator for an address
        with <code>https</code>.
      </p>
    );
  return null;
}
