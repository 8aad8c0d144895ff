import { tiles } from 'virtual:platforms';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { hrefOf, place } from '../router.ts';
import { baseUrl } from '../service.ts';
import { session } from '../session.ts';
import { CopyButton, shellWord } from '../text.tsx';
import { TokenForm } from '../token-form.tsx';
import { FirstPoll } from './first-poll.tsx';
import { guides, hasFailed, loadGuides } from './guides.ts';
import { askForHooks, hasHooks } from './hooks.ts';
import type { Step, Way } from './platforms.ts';
import { RichText } from './rich-text.tsx';

type Tile = (typeof tiles)[number];

/** A tile for each platform; then its steps, with the address of this service. */
export function Connect(): JSX.Element {
  useEffect(() => {
    void askForHooks();
    void loadGuides();
  }, []);
  const tile = tiles.find(({ id }) => id === place.value.item);
  return (
    <div class="connect">
      {tile ? <Steps tile={tile} /> : <Tiles />}
    </div>
  );
}

const Tiles = () => (
  <>
    <h1>Connect a platform</h1>
    <p class="lede">
      Every platform asks for the address of this service and for an access token of its own.
    </p>
    <TileList title="Automation platforms" shown={tiles.filter(({ runs }) => runs !== 'on your machine')} />
    <TileList title="Your own program" shown={tiles.filter(({ runs }) => runs === 'on your machine')} />
  </>
);

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
    style={{ '--hue': (tiles.findIndex((tile) => tile.id === id) * 360) / tiles.length }}
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
        <dd class="snippet">
          <pre>
            <code>{command}</code>
          </pre>
          <CopyButton text={() => command}>Copy command</CopyButton>
        </dd>
      </div>
    </dl>
  );
}

const issueCommand = (userId = 'ID', name: string): string =>
  `npx leadtap token issue --user ${shellWord(userId)} --name "${name}"`;

function Steps({ tile }: { readonly tile: Tile }): JSX.Element {
  const { id, name } = tile;
  // Steps that change while somebody reads them would be worse than a moment without them.
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
      <AddressWarning tile={tile} />
      {session.value ? (
        <FirstPoll key={name} name={name} />
      ) : (
        <WithoutToken name={name} />
      )}
      <Needs name={name} />
      {guide && (
        <>
          <StepList steps={guide.setup} start={1} />
          {guide.ways.map((way) => (
            <WaySteps key={way.title} way={way} start={guide.setup.length + 1} />
          ))}
        </>
      )}
      {hasFailed.value && (
        <p class="note" role="alert">
          The steps could not be loaded.{' '}
          <button type="button" onClick={loadGuides}>
            Try again
          </button>
        </p>
      )}
      {guide && (
        <>
          <h2>Good to know</h2>
          <ul class="notes">
            {guide.notes.map((note) => (
              <li key={note}>
                <RichText>{note}</RichText>
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

interface StepListProps {
  readonly steps: readonly Step[];
  /** The number of the first one. */
  readonly start: number;
}

const StepList = ({ steps, start }: StepListProps) => (
  <ol class="steps" start={start}>
    {steps.map((step) => (
      <li key={step.text}>
        <StepText step={step} />
      </li>
    ))}
  </ol>
);

const WaySteps = ({ way, start }: { readonly way: Way; readonly start: number }) => (
  <section>
    {way.title && <h2>{way.title}</h2>}
    <StepList steps={way.steps} start={start} />
    {way.title ? <h3>What you should see</h3> : <h2>What you should see</h2>}
    <p>
      <RichText>{way.result}</RichText>
    </p>
  </section>
);

const StepText = ({ step: { text, code } }: { readonly step: Step }) => (
  <>
    <p>
      <RichText>{text}</RichText>
    </p>
    {code !== undefined && (
      <div class="snippet">
        <pre>
          <code>{code}</code>
        </pre>
        <CopyButton text={() => code}>Copy</CopyButton>
      </div>
    )}
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
