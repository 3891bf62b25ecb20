#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Build the libraries against the headers of another rdma-core: the installed ones, less what that release lacks, and with
what it has more.

usage: check_releases.py RELEASE SOURCE-ROOT
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

INCLUDE = pathlib.Path("/usr/include/infiniband")

# What includes these headers: files of these folders, in these targets.
FOLDERS = ("lib/abi/", "lib/verbs/", "lib/mlx5/")
TARGETS = ("lib/verbs/librxe_verbs.a.p/", "lib/verbs/libverbs_versions.a.p/", "lib/mlx5/libmlx5.so")

# What joined the headers, and in which release: a member (of a structure or an enum), a macro, a function or a whole type.
SINCE = [
    (29, "verbs.h", "member", "IBV_CQ_INIT_ATTR_MASK_PD"),
    (29, "verbs.h", "member", "parent_domain"),
    (31, "verbs.h", "function", "ibv_set_ece"),
    (31, "verbs.h", "function", "ibv_query_ece"),
    (31, "verbs.h", "type", "struct ibv_ece"),
    (32, "verbs_api.h", "macro", "IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT"),
    (32, "verbs.h", "inline", "ibv_query_gid_ex"),
    (32, "verbs.h", "inline", "ibv_query_gid_table"),
    (32, "verbs.h", "function", "_ibv_query_gid_ex"),
    (32, "verbs.h", "function", "_ibv_query_gid_table"),
    (32, "verbs.h", "type", "struct ibv_gid_entry"),
    (32, "verbs.h", "type", "enum ibv_gid_type"),
    (34, "verbs.h", "function", "ibv_reg_dmabuf_mr"),
    (35, "verbs.h", "function", "ibv_is_fork_initialized"),
    (35, "verbs.h", "type", "enum ibv_fork_status"),
    (35, "verbs.h", "type", "enum ibv_dm_mask"),
    (35, "verbs.h", "member", "phys_port_cnt_ex"),
    (35, "verbs.h", "function", "ibv_import_dm"),
    (35, "verbs.h", "function", "ibv_unimport_dm"),
    (43, "mlx5dv.h", "member", "dmabuf_fd"),
    (35, "mlx5dv.h", "function", "mlx5dv_devx_umem_reg_ex"),
    (35, "mlx5dv.h", "type", "struct mlx5dv_devx_umem_in"),
    (36, "verbs.h", "function", "ibv_query_qp_data_in_order"),
    (39, "verbs.h", "member", "IBV_RATE_800_GBPS"),
    (39, "verbs.h", "member", "IBV_RATE_1200_GBPS"),
    (43, "mlx5dv.h", "type", "enum mlx5dv_devx_umem_in_mask"),
    (44, "verbs.h", "inline", "ibv_wr_atomic_write"),
    (44, "verbs.h", "member", "IBV_WR_ATOMIC_WRITE"),
    (44, "verbs.h", "member", "wr_atomic_write"),
]

# Where the installed ones are older: behind which line what comes.
MORE = [
    (45, "wr_flush", r"void \(\*wr_atomic_write\)\([^;]*;",
     "void (*wr_flush)(struct ibv_qp_ex *, uint32_t, uint64_t, size_t, uint8_t, uint8_t);"),
    (45, "IBV_WR_FLUSH", r"IBV_WR_ATOMIC_WRITE = 15,", "IBV_WR_FLUSH = 14,"),
    (45, "IBV_WC_FLUSH", r"IBV_WC_ATOMIC_WRITE = 9,", "IBV_WC_FLUSH = 8,"),
    (45, "IBV_QP_EX_WITH_FLUSH", r"IBV_QP_EX_WITH_ATOMIC_WRITE\s*= 1 << 12,", "IBV_QP_EX_WITH_FLUSH = 1 << 11,"),
    (45, "IBV_ACCESS_FLUSH_GLOBAL", r"IBV_ACCESS_HUGETLB\s*= \(1<<7\),",
     "IBV_ACCESS_FLUSH_GLOBAL = (1 << 8), IBV_ACCESS_FLUSH_PERSISTENT = (1 << 9),"),
    (45, "ibv_placement_type", r"(?=struct verbs_context \{)",
     "enum ibv_placement_type { IBV_FLUSH_GLOBAL = 1U << 0, IBV_FLUSH_PERSISTENT = 1U << 1 };"
     "enum ibv_selectivity_level { IBV_FLUSH_RANGE, IBV_FLUSH_MR };"),
    (49, "active_speed_ex", r"port_cap_flags2;", "uint32_t active_speed_ex;"),
    (59, "reg_mr_ex", r"struct verbs_context \{",
     "struct ibv_mr *(*reg_mr_ex)(struct ibv_pd *, struct ibv_mr_init_attr *);"
     "int (*dealloc_dmah)(struct ibv_dmah *);"
     "struct ibv_dmah *(*alloc_dmah)(struct ibv_context *, struct ibv_dmah_init_attr *);"),
    (59, "ibv_reg_mr_ex", r"(?=struct verbs_context \{)",
     "struct ibv_dmah { struct ibv_context *context; };"
     "struct ibv_dmah_init_attr { uint32_t comp_mask; uint32_t cpu_id; uint8_t ph; uint8_t tph_mem_type; };"
     "enum { IBV_DMAH_INIT_ATTR_MASK_CPU_ID = 1, IBV_DMAH_INIT_ATTR_MASK_PH = 2, IBV_DMAH_INIT_ATTR_MASK_TPH_MEM_TYPE = 4 };"
     "enum { IBV_TPH_MEM_TYPE_VM, IBV_TPH_MEM_TYPE_PM };"
     "enum { IBV_REG_MR_MASK_IOVA = 1, IBV_REG_MR_MASK_ADDR = 2, IBV_REG_MR_MASK_FD = 4, IBV_REG_MR_MASK_FD_OFFSET = 8,"
     " IBV_REG_MR_MASK_DMAH = 16 };"
     "struct ibv_mr_init_attr { size_t length; int access; uint64_t comp_mask; uint64_t iova; void *addr; int fd;"
     " uint64_t fd_offset; struct ibv_dmah *dmah; };"
     "struct ibv_dmah *ibv_alloc_dmah(struct ibv_context *, struct ibv_dmah_init_attr *);"
     "int ibv_dealloc_dmah(struct ibv_dmah *);"
     "struct ibv_mr *ibv_reg_mr_ex(struct ibv_pd *, struct ibv_mr_init_attr *);"),
    (62, "dm_export_dmabuf_fd", r"struct verbs_context \{", "int (*dm_export_dmabuf_fd)(struct ibv_dm *);"),
    (62, "ibv_query_port_speed", r"(?=struct verbs_context \{)",
     "int ibv_query_port_speed(struct ibv_context *, uint32_t, uint64_t *);"
     "int ibv_dm_export_dmabuf_fd(struct ibv_dm *);"),
    (64, "IBV_REG_MR_MASK_BUF", r"IBV_REG_MR_MASK_DMAH = 16", ", IBV_REG_MR_MASK_BUF = 32"),
    (64, "buf", r"uint64_t fd_offset; struct ibv_dmah \*dmah;", "struct ibv_buf *buf;"),
    (64, "free_buf", r"struct verbs_context \{",
     "void (*free_buf)(struct ibv_buf *);"
     "void *(*alloc_buf)(struct ibv_pd *, size_t, struct ibv_buf **);"),
    (64, "ibv_alloc_buf", r"(?=struct ibv_dmah \{)",
     "struct ibv_buf; struct ibv_pd; struct ibv_mr;"
     "void *ibv_alloc_buf(struct ibv_pd *, size_t, struct ibv_buf **);"
     "void ibv_free_buf(struct ibv_buf *);"
     "struct ibv_mr *ibv_reg_buf_mr(struct ibv_pd *, struct ibv_buf *, void *, size_t, int);"),
    (65, "ibv_create_comp_cntr", r"(?=struct verbs_context \{)",
     "struct ibv_comp_cntr { struct ibv_context *context; uint32_t handle; };"
     "enum ibv_comp_cntr_type { IBV_COMP_CNTR_TYPE_WRS, IBV_COMP_CNTR_TYPE_BYTES };"
     "struct ibv_comp_cntr_init_attr { uint32_t comp_mask; enum ibv_comp_cntr_type type; uint32_t flags; };"
     "struct ibv_comp_cntr_caps { uint64_t max_value; uint32_t max_counters; uint32_t supported_qp_attach_ops; };"
     "struct ibv_qp_attach_comp_cntr_attr { uint32_t comp_mask; uint32_t op_mask; };"
     "int _ibv_query_comp_cntr_caps(struct ibv_context *, struct ibv_comp_cntr_caps *, size_t);"
     "struct ibv_comp_cntr *ibv_create_comp_cntr(struct ibv_context *, struct ibv_comp_cntr_init_attr *);"
     "int ibv_destroy_comp_cntr(struct ibv_comp_cntr *);"
     "int ibv_set_comp_cntr(struct ibv_comp_cntr *, uint64_t);"
     "int ibv_set_err_comp_cntr(struct ibv_comp_cntr *, uint64_t);"
     "int ibv_inc_comp_cntr(struct ibv_comp_cntr *, uint64_t);"
     "int ibv_inc_err_comp_cntr(struct ibv_comp_cntr *, uint64_t);"
     "int ibv_read_comp_cntr(struct ibv_comp_cntr *, uint64_t *);"
     "int ibv_read_err_comp_cntr(struct ibv_comp_cntr *, uint64_t *);"
     "int ibv_export_buf_dmabuf_fd(struct ibv_buf *);"
     "int ibv_qp_attach_comp_cntr(struct ibv_qp *, struct ibv_comp_cntr *, struct ibv_qp_attach_comp_cntr_attr *);"),
]

# mlx5dv.h has had since 63 what is for sharing objects.
MORE_MLX5 = [
    (63, "mlx5dv_export_sizes", r"(?=struct mlx5dv_devx_umem_in \{)",
     "struct mlx5dv_export_sizes { uint32_t var_attrs_size; uint32_t devx_umem_attrs_size; uint32_t devx_obj_attrs_size; };"
     "void _mlx5dv_get_export_sizes(struct mlx5dv_export_sizes *, size_t);"
     "static inline void mlx5dv_get_export_sizes(struct mlx5dv_export_sizes *sizes)"
     "{ _mlx5dv_get_export_sizes(sizes, sizeof(*sizes)); }"
     "struct mlx5dv_devx_umem;"
     "int mlx5dv_devx_umem_export(struct mlx5dv_devx_umem *, void *);"
     "struct mlx5dv_devx_umem *mlx5dv_devx_umem_import(struct ibv_context *, void *);"
     "void mlx5dv_devx_umem_unimport(struct mlx5dv_devx_umem *);"),
]


def pattern(kind, name):
    if kind == "type":
        return r"^%s\s*\{.*?^\};\n" % re.sub(r"\s", r"\\s+", name)
    if kind == "inline":
        return r"^static inline [^;{}]*\b%s\([^{]*\{.*?^\}\n" % name
    if kind == "macro":
        return r"^#define %s\s.*?\n" % name
    if kind == "function":
        return r"^[a-z][^;{}#]*?\b%s\([^;{]*\);\n" % name
    return r"^\t[^;,{}]*\b%s\b[^;]*?%s\n" % (name, "," if name.isupper() else ";")


def derive(release, text, header):
    """The header as that release has it."""
    for since, where, kind, name in SINCE:
        if where == header and since > release:
            text, n = re.subn(pattern(kind, name), "", text, flags=re.M | re.S)
            if n != 1:
                sys.exit("%s: %s is there %d times" % (header, name, n))
    for since, name, behind, more in {"verbs.h": MORE, "mlx5dv.h": MORE_MLX5}.get(header, []):
        if since <= release and not re.search(r"\b%s\b" % name, text):
            text, n = re.subn(behind, lambda found, more=more: found.group(0) + more, text, count=1)
            if n != 1:
                sys.exit("%s: no place for %s" % (header, name))
    return text


def objects(build, source):
    with open(build + "/compile_commands.json", encoding="utf-8") as f:
        commands = json.load(f)
    return [c["output"] for c in commands if c["output"].startswith(TARGETS) and
            os.path.relpath(os.path.join(build, c["file"]), source).startswith(FOLDERS + ("..",))]  # generated files are outside


def run(release, command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        sys.exit(done.stdout[-4000:] + "release %d: '%s' failed" % (release, " ".join(command[:2])))


def main():
    release, source = int(sys.argv[1]), sys.argv[2]
    with tempfile.TemporaryDirectory() as folder:
        include = pathlib.Path(folder) / "include/infiniband"
        include.mkdir(parents=True)
        for header in ("verbs.h", "verbs_api.h", "mlx5dv.h"):
            text = derive(release, (INCLUDE / header).read_text(encoding="utf-8"), header)
            (include / header).write_text(text, encoding="utf-8")
        build = folder + "/build"
        run(release, ["meson", "setup", build, source, "-Dtests=disabled", "-Doptimization=0", "-Ddebug=false", "-Dwerror=true",
                      "-Dc_args=['-isystem','%s']" % include.parent])
        run(release, ["ninja", "-C", build] + objects(build, source))


main()
