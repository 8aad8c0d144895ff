/** The leads in a body: fields of a lead, or the answers of a form service. */
import type { TokenSource } from '../accounts/records.ts';
import type { MediaType } from '../http/body.ts';
import type { ParseOptions } from '../leads/parse-lead.ts';
import type { IntakeContent } from './accept.ts';
import { type BodyOptions, parseBody, parseWebhook } from './body.ts';
import { contentOfWebhook } from './sources.ts';

export interface SentBody {
  readonly bytes: Buffer;
  readonly mediaType: MediaType;
  /** The whole header: that of a multipart form names its boundary. */
  readonly contentType: string;
}

interface ContentOptions extends ParseOptions, BodyOptions {
  /** Between the steps of a large body. */
  readonly pause?: (() => Promise<void>) | undefined;
}

/** Throws 400, 415 or 422 for a body without leads. */
export const parseContent = (
  body: SentBody,
  source: TokenSource | undefined,
  options: ContentOptions,
): Promise<IntakeContent> =>
  source
    ? parseAnswers(body, source, options)
    : parseBody(body.mediaType, body.bytes, body.contentType, options);

async function parseAnswers(
  { bytes, mediaType, contentType }: SentBody,
  source: TokenSource,
  options: ContentOptions,
): Promise<IntakeContent> {
  const webhook = await parseWebhook(mediaType, bytes, contentType, options.companyId);
  await options.pause?.();
  return contentOfWebhook(webhook, source, options);
}
