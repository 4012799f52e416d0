/** An incident: planted in a running gateway of a cluster, and explained by `gw why`. */
import assert from 'node:assert/strict'
import { gw } from '../../helpers/gw.ts'
import { SPACE } from '../spaces.ts'
import { type Asked, NAME, type Rig } from './rig.ts'

export interface Incident {
  readonly what: string
  plant(rig: Rig): Promise<void>
  /** Requests of clients meanwhile; none if no request fails. */
  readonly asks?: Asked
  /** The first sentence. */
  readonly names: RegExp
  lift?(rig: Rig): Promise<void>
}

export interface Explained {
  readonly what: string
  /** From the plant to the first sentence that names the cause. */
  readonly seconds: number
  readonly sentence: string
}

const SECONDS_MAX = 45

/** Asks for reasons in the time since the incident began, until the first sentence names it. */
export async function explain(rig: Rig, incident: Incident): Promise<Explained> {
  const { what, plant, asks, names, lift } = incident
  const startedAt = Date.now()
  try {
    await plant(rig)
    const plantedAt = Date.now()
    for (;;) {
      if (asks !== undefined) await rig.ask(asks)
      const sentence = await firstSentence(startedAt)
      const seconds = (Date.now() - startedAt) / 1000
      const isNamed = names.test(sentence)
      if (!isNamed && Date.now() - plantedAt < SECONDS_MAX * 1000) continue
      process.stdout.write(`| ${what} | ${seconds.toFixed(0)} | ${sentence} |\n`)
      if (isNamed) return { what, seconds, sentence }
      assert.match(sentence, names)
    }
  } finally {
    await lift?.(rig)
    await rig.enforced()
  }
}

async function firstSentence(since: number): Promise<string> {
  const kubeconfig = process.env.E2E_KUBECONFIG ?? ''
  const where = ['--kubeconfig', kubeconfig, '-n', SPACE, '--gateway', NAME]
  const back = `${Math.ceil((Date.now() - since) / 1000)}s`
  const { stdout, stderr } = await gw('why', ...where, '--since', back)
  return stdout.split('\n')[0] || stderr
}

export async function removed(rig: Rig, kind: string, object: object): Promise<void> {
  const { metadata } = object as { readonly metadata: { readonly name: string } }
  await rig.kubectl('delete', kind, metadata.name, '--ignore-not-found')
}
