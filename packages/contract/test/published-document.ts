import { readFileSync } from 'node:fs';
import { Check } from 'typebox/schema';
import type { OpenApiDocument, Schema } from '../src/index.ts';

export const publishedText = readFileSync(new URL('../openapi.json', import.meta.url), 'utf8');

/** The committed description, read as any other program reads it. */
export const published: OpenApiDocument = JSON.parse(publishedText);

/** Whether a value fits a schema of the committed description, taken as plain JSON Schema. */
export const matches = (schema: Schema, value: unknown): boolean =>
  Check({ components: published.components, ...schema }, value);
