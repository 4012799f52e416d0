/** The JSON schema of the file, for editors: what the validator accepts, both forms of a union. */

import { z } from 'zod'
import { isRecord, valueBelow } from '../json/values.ts'
import { PROVIDER_FACTS } from '../providers/index.ts'
import { GatewayConfig } from '../schema/index.ts'
import type { Tree } from './document/tree.ts'

const TITLE = 'Configuration of the inference gateway'

const PROVIDER_SPELLINGS = Object.values(PROVIDER_FACTS).flatMap(({ spellings = [] }) => spellings)
const TLS_VERSIONS = ['1.2', '1.3', 1.2, 1.3]

export function makeJsonSchema(): Tree {
  const schema: unknown = z.toJSONSchema(GatewayConfig, { io: 'input' })
  if (!isRecord(schema)) throw new Error('the schema of the document is not an object')
  const gw = ['properties', 'gw', 'properties']
  const upstream = [...gw, 'upstreams', 'items', 'properties']
  const route = [...gw, 'routes', 'items', 'properties']
  widen(schema, [...route, 'upstreams', 'items'], (object) => [
    nameOf(object),
    object,
    nestedIn(valueBelow(object, 'properties', 'weight')),
  ])
  widen(schema, [...route, 'fallback', 'items'], (name) => [name, nestedIn()])
  const deprecated = valueBelow(schema, ...gw, 'deprecated_aliases', 'additionalProperties')
  widen(schema, [...gw, 'aliases', 'additionalProperties'], (name) => [
    name,
    {
      type: 'object',
      properties: { route: name, deprecated },
      required: ['route'],
      additionalProperties: false,
    },
  ])
  const models = valueBelow(schema, ...upstream, 'models')
  widen(schema, [...upstream, 'model'], (model) => [model, models])
  const further = valueBelow(schema, ...upstream, 'further_api_keys')
  widen(schema, [...upstream, 'api_key'], (key) => [key, { ...Object(further), maxItems: 16 }])
  widen(schema, [...gw, 'pricing'], (object) => [
    valueBelow(object, 'properties', 'models'),
    object,
  ])
  widen(schema, [...gw, 'no_proxy'], (list) => [
    { type: 'string', description: 'The same, separated by commas.' },
    list,
  ])
  widen(schema, [...upstream, 'provider'], (names) => [names, { enum: PROVIDER_SPELLINGS }])
  for (const tls of [
    [...gw, 'tls'],
    [...gw, 'gateway', 'properties', 'tls'],
    [...upstream, 'tls'],
  ]) {
    widen(schema, [...tls, 'properties', 'min_version'], (names) => [names, { enum: TLS_VERSIONS }])
  }
  return { ...schema, title: TITLE }
}

/** Puts alternatives in the place of a schema; its description and default stay outside. */
function widen(root: Tree, path: readonly string[], choices: (schema: Tree) => unknown[]): void {
  const parent = valueBelow(root, ...path.slice(0, -1))
  const name = path.at(-1)
  const schema = valueBelow(root, ...path)
  if (!isRecord(parent) || name === undefined || !isRecord(schema)) {
    throw new Error(`the schema has nothing at ${path.join('.')}`)
  }
  const { description, default: initial, ...rest } = schema
  parent[name] = {
    ...(description === undefined ? {} : { description }),
    ...(initial === undefined ? {} : { default: initial }),
    anyOf: choices(rest),
  }
}

/** Another route as a member. */
function nestedIn(weight?: unknown): Tree {
  const route = { type: 'string', description: 'Name of another route.' }
  const properties = weight === undefined ? { route } : { route, weight }
  return { type: 'object', properties, required: ['route'], additionalProperties: false }
}

function nameOf(object: Tree): unknown {
  return valueBelow(object, 'properties', 'name')
}
