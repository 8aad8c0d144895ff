import type { JSX } from 'preact';
import { hrefOf, place } from '../router.ts';
import { baseUrl } from '../service.ts';
import { session } from '../session.ts';
import { CopyButton, quote } from '../text.tsx';
import { TokenForm } from '../token-form.tsx';
import { FirstPoll } from './first-poll.tsx';
import { addressOf, type Platform, platforms, type Step } from './platforms.ts';
import { RichText } from './rich-text.tsx';

const PLATFORMS = platforms(addressOf(baseUrl));

/** A tile for each platform; then its steps, with the address of this service. */
export function Connect(): JSX.Element {
  const platform = PLATFORMS.find(({ id }) => id === place.value.item);
  return <div class="connect">{platform ? <Steps platform={platform} /> : <Tiles />}</div>;
}

const Tiles = () => (
  <>
    <h1>Connect a platform</h1>
    <p>Every platform asks for the address of this service and for an access token of its own.</p>
    <ul class="tiles">
      {PLATFORMS.map(({ id, name, summary }) => (
        <li key={id}>
          <a href={hrefOf('connect', id)}>
            <strong>{name}</strong>
            <span>{summary}</span>
          </a>
        </li>
      ))}
    </ul>
  </>
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

const SAFE_IN_A_SHELL = /^[\w.@:+-]+$/;

function issueCommand(userId: string | undefined, name: string): string {
  const user = userId === undefined ? 'ID' : SAFE_IN_A_SHELL.test(userId) ? userId : quote(userId);
  return `npx leadtap token issue --user ${user} --name "${name}"`;
}

function Steps({ platform }: { readonly platform: Platform }): JSX.Element {
  const { name, steps, result, notes } = platform;
  return (
    <>
      <p class="up">
        <a href={hrefOf('connect')}>← All platforms</a>
      </p>
      <h1>{name}</h1>
      <AddressWarning platform={platform} />
      <Needs name={name} />
      <ol class="steps">
        {steps.map((step) => (
          <li key={step.text}>
            <StepText step={step} />
          </li>
        ))}
      </ol>
      <h2>What you should see</h2>
      <p>
        <RichText>{result}</RichText>
      </p>
      {session.value ? <FirstPoll token={session.value.token} name={name} /> : <WithoutToken />}
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

const WithoutToken = () => (
  <>
    <h2>The first poll</h2>
    <p>With the token, this page shows when the first poll comes.</p>
    <TokenForm />
  </>
);

const PRIVATE_HOST =
  /^(localhost|127\.|10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|169\.254\.|\[(::1|f[cd]|fe80))|\.(local|internal|lan|home\.arpa)$/i;

/** Says why this address will not work, or not safely, before the visitor tries it. */
function AddressWarning({ platform: { name, runs } }: { readonly platform: Platform }): JSX.Element | null {
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
