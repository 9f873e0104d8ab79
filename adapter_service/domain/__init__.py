"""Pure rules and data of the Adapter: plan, policy, approval, ledger, answers. Imports only the sdk."""
