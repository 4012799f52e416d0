/**
 * Writes the resource definitions for clusters; a test compares them with the schema. `--released` records the release.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { stringify } from 'yaml'
import { parseJson } from '../dataplane/json/parse.ts'
import { valueBelow } from '../dataplane/json/values.ts'
import { makeGatewayConfigDefinition, makeGatewayKeyDefinition } from './definition.ts'
import { hashOfTypes, type Released, versionOfTypes } from './release/types-version.ts'
import { makeTenantPolicyDefinition } from './tenant-policy-definition.ts'

const HEAD = '# Made from the schema by `make generate`; change that instead.\n'
const RELEASED = new URL('./release/released.json', import.meta.url)

const manifests = {
  'gatewayconfigs.yaml': makeGatewayConfigDefinition(),
  'gatewaykeys.yaml': makeGatewayKeyDefinition(),
  'tenantpolicies.yaml': makeTenantPolicyDefinition(),
}

const read = (file: URL) => parseJson(readFileSync(file, 'utf8'))
const version = String(valueBelow(read(new URL('../package.json', import.meta.url)), 'version'))
const released = read(RELEASED) as Released
const hash = hashOfTypes(Object.values(manifests))
/** Operators and a policy of the chart compare it, because neither works with later types. */
const annotations = { 'inference.gw/bundle-version': versionOfTypes(version, hash, released) }

const folder = new URL('./manifests/', import.meta.url)
mkdirSync(folder, { recursive: true })
for (const [name, definition] of Object.entries(manifests)) {
  const metadata = { ...(definition.metadata as Readonly<Record<string, unknown>>), annotations }
  const dated = { ...definition, metadata }
  const text = stringify(dated, { lineWidth: 0, aliasDuplicateObjects: false })
  writeFileSync(new URL(name, folder), `${HEAD}${text}`)
}
if (process.argv.includes('--released')) {
  writeFileSync(RELEASED, `${JSON.stringify({ ...released, [version]: hash }, null, 2)}\n`)
}
