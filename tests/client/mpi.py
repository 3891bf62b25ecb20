# SPDX-License-Identifier: MIT
"""What Debian's Open MPI needs in a test: root, no ssh, and a session folder of its own.

By default every mpirun of a user keeps its session below one folder, /tmp/ompi.HOST.UID. One that ends removes that folder when
it is empty. One that starts at this moment then fails: "A call to mkdir was unable to create the desired directory"
(orte/util/session_dir.c)."""

OVER_UCX = {"OMPI_MCA_pml": "ucx", "OMPI_MCA_btl": "self", "UCX_TLS": "rc", "UCX_NET_DEVICES": "rxe_dm0:1"}


def environment(folder, settings, agent="false"):
    """folder: for no other mpirun; mpirun makes it. agent: what mpirun calls instead of ssh."""
    return {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_plm_rsh_agent": agent,
            "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_orte_tmpdir_base": folder, **settings}
