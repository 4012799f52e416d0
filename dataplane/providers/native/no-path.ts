/** Answers that show that an upstream lacks an API, rather than a model. */
import type { Failure } from '../../wire/provider.ts'

const NO_PATH: readonly (number | undefined)[] = [404, 405, 501]
const NO_MODEL: readonly unknown[] = ['model_not_found', 'DeploymentNotFound']

export function isNoPath({ status, code }: Failure): boolean {
  return NO_PATH.includes(status) && !NO_MODEL.includes(code)
}
