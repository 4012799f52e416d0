/** Plugins stand in their registries, and a provider is named in its own folder alone. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { test } from 'node:test'
import { PROVIDER_FACTS } from '../../dataplane/providers/index.ts'
import { product, ROOT } from './sources.ts'

/** Plugins that no registry lists, and why. */
const UNLISTED: Readonly<Record<string, string>> = {
  'dataplane/apis/unknown.ts': 'it answers every path that is not an API',
}

test('every plugin stands in its registry', () => {
  const registries: Readonly<Record<string, RegExp>> = {
    'dataplane/providers': /^export const facts: ProviderFacts\b/m,
    'dataplane/strategies': /^export const \w+: Strategy\b/m,
    'dataplane/apis': /^export const \w+: Api\b/m,
    'cli/commands': /^export const \w+ = (?:endUsageWith64\(\s*)?new Command\(/m,
  }
  for (const [folder, plugin] of Object.entries(registries)) {
    const index = readFileSync(join(ROOT, folder, 'index.ts'), 'utf8')
    for (const { path, text } of product) {
      if (!path.startsWith(`${folder}/`) || path.endsWith('index.ts') || !plugin.test(text))
        continue
      if (path in UNLISTED) continue
      const name = `./${relative(folder, path)}`
      assert.ok(index.includes(`'${name}'`), `${path} is not in ${folder}/index.ts; add its line`)
    }
  }
})

/** A provider's name as a quoted word or the beginning of one, as a property, or in an import from its folder. */
const NAMED = Object.values(PROVIDER_FACTS).map(({ name, aliases = [], spellings = [] }) => {
  const words = [name, ...aliases, ...spellings].join('|')
  const asWord = `['"\`](?:${words})(?=['"\`:_])`
  // `azure.ai.openai` is Azure's name in telemetry.
  const asProperty = `(?<![\\w-])${name}\\??:|(?<=[\\w\\])!?])(?<!'azure\\.ai)\\.${name}\\b`
  return { name, pattern: new RegExp(`${asWord}|${asProperty}|providers/${name}/`) }
})
/** Files that may name one, and why. */
const FOREIGN = 'it translates the names and settings of another gateway'
const NAMES_PROVIDERS: Readonly<Record<string, string>> = {
  'cli/init/questions.ts': 'it offers the provider of a first file',
  'cli/moving/bifrost/keys.ts': FOREIGN,
  'cli/moving/bifrost/reader.ts': FOREIGN,
  'cli/moving/envoy/backend.ts': FOREIGN,
  'cli/moving/litellm/clouds.ts': FOREIGN,
  'cli/moving/litellm/model.ts': FOREIGN,
  'cli/moving/portkey/target.ts': FOREIGN,
  'cli/moving/providers.ts': FOREIGN,
  'cli/quickstart/instructions.ts': 'its examples import the npm package openai',
  'cli/simulator/models.ts': "the simulator reports its queue in vLLM's words",
}

test('a provider is named in its own folder and in the index of providers alone', () => {
  for (const { path, text } of product) {
    if (path === 'dataplane/providers/index.ts') continue
    const found = NAMED.filter(({ name }) => !path.startsWith(`dataplane/providers/${name}/`))
      .map(({ pattern }) => pattern.exec(text)?.[0])
      .find((one) => one !== undefined)
    if (path in NAMES_PROVIDERS) assert.ok(found, `${path} names no provider; take it off the list`)
    else assert.equal(found, undefined, `${path}: make it a fact of wire/provider-facts.ts`)
  }
})
