"""The program that makes a price list live, without a price list that could come to harm."""

from sphynx.mocks.cli import cli, command

pricing_cli = cli(
    path="pricing",
    version="1.0.0",
    commands=[
        command(path=["push"], description="Make the price list live", handler=lambda: {"status": "live"}),
    ],
)
