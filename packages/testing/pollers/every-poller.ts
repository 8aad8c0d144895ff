import type { OtherWayKey, OurWayKey } from '../../../tools/generate/poller-outcomes.ts';
import { activepiecesLastItem, activepiecesPiece, activepiecesTimeBased } from './platforms/activepieces.ts';
import { client, clientInstant } from './platforms/client.ts';
import { makeApp } from './platforms/make.ts';
import { n8nInstant, n8nLastTwoMinutes, n8nNode, n8nOwnClock } from './platforms/n8n.ts';
import { nodeRedContextInMemory, nodeRedFlow, nodeRedInstant } from './platforms/node-red.ts';
import { pipedreamSource } from './platforms/pipedream.ts';
import {
  powerAutomateConnector,
  powerAutomateFirstElement,
  powerAutomateFlow,
} from './platforms/power-automate.ts';
import { workatoConnector, workatoWholeSeconds } from './platforms/workato.ts';
import { zapierApp, zapierNewestPage } from './platforms/zapier.ts';
import type { MakePoller } from './poller.ts';

export const OUR_POLLERS: Readonly<Record<OurWayKey, MakePoller>> = {
  zapierApp,
  makeApp,
  n8nNode,
  n8nInstant,
  workatoConnector,
  activepiecesPiece,
  pipedreamSource,
  powerAutomateConnector,
  powerAutomateFlow,
  nodeRedFlow,
  nodeRedInstant,
  client,
  clientInstant,
};

export const OTHER_POLLERS: Readonly<Record<OtherWayKey, MakePoller>> = {
  zapierNewestPage,
  n8nOwnClock,
  n8nLastTwoMinutes,
  workatoWholeSeconds,
  activepiecesTimeBased,
  activepiecesLastItem,
  powerAutomateFirstElement,
  nodeRedContextInMemory,
};
