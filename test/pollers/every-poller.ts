import type { PollerKey } from '../../scripts/poller-outcomes.ts';
import { activepiecesLastItem, activepiecesPiece, activepiecesTimeBased } from './platforms/activepieces.ts';
import { client } from './platforms/client.ts';
import { makeApp } from './platforms/make.ts';
import { n8nLastTwoMinutes, n8nOwnClock } from './platforms/n8n.ts';
import { nodeRedContextInFiles, nodeRedContextInMemory } from './platforms/node-red.ts';
import { pipedreamSource } from './platforms/pipedream.ts';
import { powerAutomateConnector, powerAutomateFirstElement } from './platforms/power-automate.ts';
import { workatoConnector, workatoWholeSeconds } from './platforms/workato.ts';
import { zapierApp, zapierNewestPage } from './platforms/zapier.ts';
import type { MakePoller } from './poller.ts';

export const POLLERS: Readonly<Record<PollerKey, MakePoller>> = {
  zapierApp,
  zapierNewestPage,
  makeApp,
  n8nOwnClock,
  n8nLastTwoMinutes,
  workatoConnector,
  workatoWholeSeconds,
  activepiecesPiece,
  activepiecesTimeBased,
  activepiecesLastItem,
  pipedreamSource,
  powerAutomateConnector,
  powerAutomateFirstElement,
  nodeRedContextInFiles,
  nodeRedContextInMemory,
  client,
};
