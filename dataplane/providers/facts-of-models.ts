/** Looks up the facts about an upstream's model. Only this file reads the tables of models. */
import type { Capabilities, ModelRow, WrittenCapabilities } from '../wire/models/capabilities.ts'
import type { Encoding } from '../wire/models/encodings.ts'
import { PROVIDER_FACTS, type ProviderName } from './index.ts'

interface Named {
  readonly provider: ProviderName
  readonly model: string
  readonly capabilities?: WrittenCapabilities | undefined
}

const DATED = /-(?:latest|\d{4}-\d{2}-\d{2}|20\d{6})$/
/** The models of all makers: one hosted API may serve the models of another maker. */
const ROWS_OF_ALL: readonly ModelRow[] = Object.values(PROVIDER_FACTS).flatMap(
  ({ models = [] }) => models,
)

/** The configured facts, else those of the tables. */
export function capabilitiesOf(upstream: Named): Capabilities {
  return Object.freeze({ ...knownOf(upstream), ...writtenIn(upstream.capabilities) })
}

/**
 * A configured limit applies to the model and to each request. APIs that the configuration does not name are not
 * used.
 */
function writtenIn(written: WrittenCapabilities = {}): Capabilities {
  const { reasoning, efforts, thinking, thinking_tokens, thinking_member, wires } = written
  const { output_tokens, tool_name_length, call_id_length, chat_template } = written
  return {
    ...(reasoning !== undefined && { reasons: reasoning }),
    ...(efforts !== undefined && { efforts }),
    ...(thinking !== undefined && { thinking }),
    ...(thinking_tokens !== undefined && { thinkingTokens: thinking_tokens }),
    ...(thinking_member !== undefined && { thinkingMember: thinking_member }),
    ...(output_tokens !== undefined && { outputTokens: output_tokens, outputMost: output_tokens }),
    ...(tool_name_length !== undefined && { nameMax: tool_name_length }),
    ...(call_id_length !== undefined && { idMax: call_id_length }),
    ...(chat_template !== undefined && { chatTemplate: chat_template }),
    ...(wires?.includes('chat') === false && { responses: 'always' }),
    ...(wires?.includes('responses') === false && { responses: 'never' }),
  }
}

/**
 * For each fact, the first row of the provider that has it. Windows and encodings may also come from rows of other
 * makers.
 */
function knownOf({ provider, model }: Named): Capabilities {
  const { hosted, models = [] } = PROVIDER_FACTS[provider]
  const name = nameOf({ provider, model })
  const own = factsIn(models, name, model)
  if (!hosted) return own
  const { contextWindow, encoding } = factsIn(ROWS_OF_ALL, name, model)
  return {
    ...(contextWindow !== undefined && { contextWindow }),
    ...(encoding !== undefined && { encoding }),
    ...own,
  }
}

/**
 * The configured window, else that of the hosted model. Runtimes are asked, because they may serve a smaller window.
 */
export function knownWindow(
  upstream: Named & { readonly context_window?: number | undefined },
): number | undefined {
  return upstream.context_window ?? knownOf(upstream).contextWindow
}

/** undefined for runtimes, because their models have their own tokenizers. */
export function encodingOfModel(upstream: Named): Encoding | undefined {
  return knownOf(upstream).encoding
}

/** The name without a date, as in the provider's rows. */
function nameOf({ provider, model }: Named): string {
  const { modelName } = PROVIDER_FACTS[provider]
  return (modelName?.(model) ?? model).replace(DATED, '')
}

/** A part of the id that the name omits distinguishes some rows. */
function factsIn(rows: readonly ModelRow[], name: string, id: string): Capabilities {
  const found = rows.filter(({ of }) => of.test(name) || of.test(id)).toReversed()
  return Object.assign(
    {},
    ...found.map(({ of: _of, checked: _day, source: _source, ...facts }) => facts),
  )
}
