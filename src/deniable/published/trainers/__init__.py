"""Trainers whose claims are false although their noise is right, each beside its mended twin: one flaw, one file.

A record is its own gradient (of a loss that is linear in the parameters), unless a file says otherwise, so that the
worst data can be written down. `deniable.published.trainers.dp_sgd` is what they share.

Which records come into a step: ``shuffled_batches``, ``independent_micro_batches``, ``skipped_empty_batches``.
What one record does to a sum: ``drawn_batch_size``, ``short_last_batch``, ``clipped_mean``, ``accumulated_gradients``,
``clipped_layers``, ``unclipped_remainder``. What else is taken from the records: ``private_normalizer``,
``private_vocabulary``, ``best_checkpoint``. How noise is drawn and counted: ``floating_point_noise``, ``shared_noise``,
``noise_per_micro_batch``, ``resumed_training``.
"""
