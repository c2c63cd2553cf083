"""``deniable train``: one command for each kind of model."""

from deniable.cli.commandline import add_command, make_group
from deniable.cli.commands.train.fasttext import run_train_fasttext
from deniable.cli.commands.train.image import run_train_image
from deniable.cli.commands.train.private_text import run_train_private_text
from deniable.cli.commands.train.rewriter import run_train_rewriter
from deniable.cli.commands.train.text import run_train_text

group = make_group("Train a model, and write it with its model card.")
add_command(group, "image", run_train_image)
add_command(group, "text", run_train_text)
add_command(group, "private-text", run_train_private_text)
add_command(group, "fasttext", run_train_fasttext)
add_command(group, "rewriter", run_train_rewriter)
