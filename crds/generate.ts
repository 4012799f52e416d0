/** Writes the definitions that a cluster is given; a test holds them against the schema. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { stringify } from 'yaml'
import { makeGatewayConfigDefinition, makeGatewayKeyDefinition } from './definition.ts'
import { makeTenantPolicyDefinition } from './tenant-policy-definition.ts'

const HEAD = '# Made from the schema by `make generate`; change that instead.\n'

const manifests = {
  'gatewayconfigs.yaml': makeGatewayConfigDefinition(),
  'gatewaykeys.yaml': makeGatewayKeyDefinition(),
  'tenantpolicies.yaml': makeTenantPolicyDefinition(),
}

const folder = new URL('./manifests/', import.meta.url)
mkdirSync(folder, { recursive: true })
for (const [name, definition] of Object.entries(manifests)) {
  const text = stringify(definition, { lineWidth: 0, aliasDuplicateObjects: false })
  writeFileSync(new URL(name, folder), `${HEAD}${text}`)
}
