/** Health probes. */
import { HOSTED } from '../../../providers/names.ts'
import { refuse, warn } from '../../judgement/problems.ts'
import { at, type Check } from '../contract.ts'

const HOSTED_NAMES: readonly string[] = HOSTED

const hostedProbeHasPath: Check = ({ upstreams }) =>
  upstreams.flatMap(({ provider, health_check }, index) =>
    health_check !== undefined && health_check.path === undefined && HOSTED_NAMES.includes(provider)
      ? [
          refuse(
            at('upstreams', index, 'health_check', 'path'),
            `required: the hosted API ${provider} has no usual health path`,
            'Add path:, or remove health_check; hosted APIs are not probed without it.',
          ),
        ]
      : [],
  )

const probeEndsBeforeTheNext: Check = ({ upstreams }) =>
  upstreams.flatMap(({ health_check }, index) =>
    health_check !== undefined && health_check.timeout_seconds >= health_check.interval_seconds
      ? [
          warn(
            at('upstreams', index, 'health_check', 'timeout_seconds'),
            `${health_check.timeout_seconds} s is not below interval_seconds (${health_check.interval_seconds})`,
            'Write well under interval_seconds.',
          ),
        ]
      : [],
  )

export const probeChecks = [hostedProbeHasPath, probeEndsBeforeTheNext]
