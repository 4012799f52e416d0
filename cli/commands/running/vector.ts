/** `gw vector`: the passages that vector stores find. */
import { Command } from 'commander'
import { bareName } from '../../asking/bare-name.ts'
import { addPlace, askedPlace, type PlaceOptions } from '../../asking/place.ts'
import { type Format, formatOption } from '../../printing/formats.ts'
import { endUsageWith64 } from '../../printing/output.ts'

interface VectorTestOptions extends PlaceOptions {
  readonly store: string
  readonly query?: string
  readonly tenant?: string
  readonly output: Format
}

const test = bareName(
  addPlace(
    new Command('test')
      .description(
        'Embed a question and search a vector store, through the gateway; exits with 1 if this fails.',
      )
      .requiredOption('--store <name>', 'name of the vector store')
      .option('--query <text>', 'the question')
      .option('--tenant <name>', 'the tenant that asks; default: test'),
  ).addOption(formatOption()),
  '--store',
  testStore,
)

export const vector = endUsageWith64(
  new Command('vector').description('Test vector stores.').addCommand(test),
)

async function testStore(options: VectorTestOptions, command: Command): Promise<void> {
  const { store, query, tenant, output } = options
  const { testVectorStore } = await import('../../trials/vector-store.ts')
  await testVectorStore({ store, query, tenant, output }, await askedPlace(options, command))
}
