/** Writes the JSON schema of the configuration file; a test holds it against the schema. */
import { writeFileSync } from 'node:fs'
import { makeJsonSchema } from './json-schema.ts'

const target = new URL('./schema.generated.json', import.meta.url)
writeFileSync(target, `${JSON.stringify(makeJsonSchema(), null, 2)}\n`)
