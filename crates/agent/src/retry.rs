//! What follows a failed model call: another model, a wait, or the end. Pure; the loop does it.

use std::time::Duration;

use osier_llm::TurnStatus;

/// Limits of trying again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Attempts after the first, per turn, over all models together.
    pub max_retries: u32,
    /// First wait; doubles with every further one.
    pub base_delay: Duration,
    /// Longest wait of our own choosing.
    pub max_delay: Duration,
    /// A provider that asks for longer than this is not waited for.
    pub max_retry_after: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_retries: 5,
            base_delay: Duration::from_millis(500),
            max_delay: Duration::from_secs(30),
            max_retry_after: Duration::from_mins(5),
        }
    }
}

/// What to do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryStep {
    /// Call the model at this place of the list at once.
    Switch {
        model: usize,
    },
    /// Call the model at this place of the list after the delay.
    Wait {
        model: usize,
        delay: Duration,
    },
    GiveUp,
}

/// What is known when a call failed.
#[derive(Debug, Clone, Copy)]
pub struct Failure<'a> {
    pub status: &'a TurnStatus,
    /// Place of the model that failed.
    pub model: usize,
    /// Failed attempts of this turn so far, this one included.
    pub attempts: u32,
    /// Whether the models at each place may still be used.
    pub usable: &'a [bool],
    /// From 0 to 1; shortens the wait by up to a quarter.
    pub jitter: f64,
}

impl RetryPolicy {
    /// The next usable model is tried first; when the list is through, it begins again after a wait.
    pub fn next(&self, failure: Failure<'_>) -> RetryStep {
        let Failure {
            status,
            model,
            attempts,
            usable,
            jitter,
        } = failure;
        if attempts > self.max_retries || !(status.is_retryable() || status.disables_provider()) {
            return RetryStep::GiveUp;
        }
        if let Some(next) = (model + 1..usable.len()).find(|place| usable[*place]) {
            return RetryStep::Switch { model: next };
        }
        let Some(first) = usable.iter().position(|usable| *usable) else {
            return RetryStep::GiveUp;
        };
        if status.disables_provider() {
            // The list is through and its last member is of no more use: earlier ones had their try.
            return if first == model {
                RetryStep::GiveUp
            } else {
                self.wait(first, attempts, jitter)
            };
        }
        match status {
            TurnStatus::RateLimit {
                retry_after_ms: Some(asked),
                ..
            } => {
                let asked = Duration::from_millis(*asked);
                if asked > self.max_retry_after {
                    return RetryStep::GiveUp;
                }
                RetryStep::Wait {
                    model: first,
                    delay: asked,
                }
            }
            _ => self.wait(first, attempts, jitter),
        }
    }

    fn wait(&self, model: usize, attempts: u32, jitter: f64) -> RetryStep {
        let doubled = self
            .base_delay
            .saturating_mul(1 << attempts.saturating_sub(1).min(16));
        let delay = doubled
            .min(self.max_delay)
            .mul_f64(1.0 - 0.25 * jitter.clamp(0.0, 1.0));
        RetryStep::Wait { model, delay }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate_limit(retry_after_ms: Option<u64>) -> TurnStatus {
        TurnStatus::RateLimit {
            message: "slow down".into(),
            retry_after_ms,
        }
    }

    fn step(status: &TurnStatus, model: usize, attempts: u32, usable: &[bool]) -> RetryStep {
        RetryPolicy::default().next(Failure {
            status,
            model,
            attempts,
            usable,
            jitter: 0.0,
        })
    }

    fn wait(model: usize, milliseconds: u64) -> RetryStep {
        RetryStep::Wait {
            model,
            delay: Duration::from_millis(milliseconds),
        }
    }

    #[test]
    fn the_next_model_comes_before_a_wait_and_waits_double() {
        let status = rate_limit(None);
        assert_eq!(
            step(&status, 0, 1, &[true, true]),
            RetryStep::Switch { model: 1 }
        );
        assert_eq!(step(&status, 1, 2, &[true, true]), wait(0, 1000));
        assert_eq!(step(&status, 0, 1, &[true]), wait(0, 500));
        assert_eq!(step(&status, 0, 5, &[true]), wait(0, 8000));
        assert_eq!(step(&status, 0, 6, &[true]), RetryStep::GiveUp);
    }

    #[test]
    fn jitter_shortens_a_wait_by_up_to_a_quarter_and_never_what_was_asked_for() {
        let status = rate_limit(None);
        let step = |jitter, status: &TurnStatus| {
            RetryPolicy::default().next(Failure {
                status,
                model: 0,
                attempts: 3,
                usable: &[true],
                jitter,
            })
        };
        assert_eq!(step(0.0, &status), wait(0, 2000));
        assert_eq!(step(0.5, &status), wait(0, 1750));
        assert_eq!(step(1.0, &status), wait(0, 1500));
        assert_eq!(step(1.0, &rate_limit(Some(2000))), wait(0, 2000));
    }

    #[test]
    fn what_the_provider_asks_for_is_honoured_up_to_a_limit() {
        assert_eq!(
            step(&rate_limit(Some(20_000)), 0, 1, &[true]),
            wait(0, 20_000)
        );
        assert_eq!(
            step(&rate_limit(Some(3_600_000)), 0, 1, &[true]),
            RetryStep::GiveUp
        );
    }

    #[test]
    fn a_provider_without_a_valid_key_is_left_for_the_next() {
        let status = TurnStatus::AuthError {
            message: "bad key".into(),
        };
        assert_eq!(
            step(&status, 0, 1, &[false, true]),
            RetryStep::Switch { model: 1 }
        );
        assert_eq!(step(&status, 0, 1, &[false]), RetryStep::GiveUp);
        let refused = TurnStatus::ModelError {
            message: "no".into(),
            retryable: false,
        };
        assert_eq!(step(&refused, 0, 1, &[true, true]), RetryStep::GiveUp);
    }
}
