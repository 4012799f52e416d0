/** `gw guardrail`: the verdict of a guardrail on a text. */
import { Command, Option } from 'commander'
import { bareName } from '../../asking/bare-name.ts'
import { addPlace, askedPlace, type PlaceOptions } from '../../asking/place.ts'
import { type Format, formatOption } from '../../printing/formats.ts'
import { endUsageWith64 } from '../../printing/output.ts'

interface GuardrailTestOptions extends PlaceOptions {
  readonly policy: string
  readonly input: string
  readonly side?: string
  readonly output: Format
}

const test = bareName(
  addPlace(
    new Command('test')
      .description(
        'Ask a guardrail for its verdict, through the gateway; exits with 1 if there is no verdict.',
      )
      .requiredOption('--policy <name>', 'name of the guardrail')
      .requiredOption('--input <text>', 'the text to judge'),
  )
    .addOption(
      new Option(
        '--side <side>',
        "judge the text as a request or as an answer; default: the guardrail's stage",
      ).choices(['input', 'output']),
    )
    .addOption(formatOption()),
  '--policy',
  testGuardrail,
)

export const guardrail = endUsageWith64(
  new Command('guardrail').description('Test guardrails.').addCommand(test),
)

async function testGuardrail(options: GuardrailTestOptions, command: Command): Promise<void> {
  const { policy, input, side, output } = options
  const { testGuardrail: run } = await import('../../trials/guardrail.ts')
  await run({ policy, input, side, output }, await askedPlace(options, command))
}
