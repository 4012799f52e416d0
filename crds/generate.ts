/** Writes the definitions that a cluster is given; a test holds them against the schema. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { stringify } from 'yaml'
import { makeGatewayConfigDefinition, makeGatewayKeyDefinition } from './definition.ts'
import { makeTenantPolicyDefinition } from './tenant-policy-definition.ts'

const HEAD = '# Made from the schema by `make generate`; change that instead.\n'

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
/** The release that the types are of: a policy of the chart refuses earlier ones over later ones. */
const annotations = { 'inference.gw/bundle-version': version }

const manifests = {
  'gatewayconfigs.yaml': makeGatewayConfigDefinition(),
  'gatewaykeys.yaml': makeGatewayKeyDefinition(),
  'tenantpolicies.yaml': makeTenantPolicyDefinition(),
}

const folder = new URL('./manifests/', import.meta.url)
mkdirSync(folder, { recursive: true })
for (const [name, definition] of Object.entries(manifests)) {
  const metadata = { ...(definition.metadata as Readonly<Record<string, unknown>>), annotations }
  const dated = { ...definition, metadata }
  const text = stringify(dated, { lineWidth: 0, aliasDuplicateObjects: false })
  writeFileSync(new URL(name, folder), `${HEAD}${text}`)
}
